"""Shared by environments."""
