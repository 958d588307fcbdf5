"""The default response parsers."""
