"""What a reply may ask for beside keystrokes. Parsers that offer an action know how it is written in their format."""
