"""Segments and views under .git/kb: derived, immutable, rebuilt at will."""
