"""Which test belongs to which group. What a user would miss first has none, and runs by default."""

_BY_PATH = {
    "terminus_plugins/places/": "places",
    "terminus_plugins/sessions/tmux/test_versions.py": "versions",
    "terminus_plugins/sessions/tmux/test_exec_only.py::TestOtherVersionsByExec": "versions",
    "terminus_plugins/sessions/tmux/test_exec_only.py::TestTmuxByExec": "exhaustive",
    "benchmarks/": "slow",
    "docs/test_pages.py::test_blocks_run_in_their_order": "slow",
    "docs/test_site.py": "slow",
    "examples/": "slow",
    "long_runs/": "slow",
    "mutants/test_sessions.py": "exhaustive",
    "terminus_core/cli/test_new_plugin.py": "slow",
    "terminus_plugins/commands/view/test_page.py": "slow",
    "terminus_plugins/harbor/": "slow",
    "terminus_plugins/llms/test_litellm_import.py": "slow",
    "typing/": "slow",
}
_BOTH_LOOPS = ("terminus_core/", "terminus_plugins/sessions/tmux/test_conformance.py")
"""Where both event loops run by default."""


def groups_of(nodeid: str) -> set[str]:
    """The groups of a test, by its id."""
    path = nodeid.removeprefix("tests/")
    found = {group for prefix, group in _BY_PATH.items() if path.startswith(prefix)}
    if not found and "trio" in path.partition("[")[2].replace("]", "-").split("-") and not path.startswith(_BOTH_LOOPS):
        found.add("exhaustive")
    return found
