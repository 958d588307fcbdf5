"""The default completion policies."""
