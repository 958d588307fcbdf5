"""The default environments."""
