"""The default response parsers, ``json`` and ``xml``, and what they share."""
