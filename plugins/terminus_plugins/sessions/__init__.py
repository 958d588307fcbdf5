"""Session backends."""
