"""What is in ``inside`` runs in an interpreter that has Harbor: see ``test_in_harbor.py``."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("harbor") else ["inside"]
