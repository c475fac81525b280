"""Who may come in, and what every reply carries."""
