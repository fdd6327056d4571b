"""What things are: frozen data and pure functions. Imports the standard library alone."""
