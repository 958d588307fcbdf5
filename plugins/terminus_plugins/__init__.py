"""The default parts of terminus_core, each found through its entry point like anybody's plugin."""
