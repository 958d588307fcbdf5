"""Shared by response parsers."""
