"""The default observers."""
