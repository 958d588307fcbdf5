"""``python -m terminus_core`` is the command ``terminus``."""

import sys

from terminus_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
