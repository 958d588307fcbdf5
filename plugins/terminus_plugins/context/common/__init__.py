"""Shared by context strategies."""
