"""Actions: what a reply may ask for beside keystrokes."""
