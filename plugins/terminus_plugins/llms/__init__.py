"""The default ways to ask a model."""
