"""Shared by LLMs."""
