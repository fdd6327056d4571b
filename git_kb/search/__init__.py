"""From a query to ranked hits and answers."""
