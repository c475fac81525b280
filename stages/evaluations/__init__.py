"""Pure functions that evaluate answers."""
