"""Command lines: parse, call one library function, render."""
