"""The default gates."""
