"""Both event loops, and the doubles of terminus_core."""

pytest_plugins = ["terminus_core.testing.pytest_plugin"]
