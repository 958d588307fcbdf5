"""The default context strategies."""
