"""Functions on texts that every kind of job uses."""
