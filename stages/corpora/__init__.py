"""Works cut into chunks, and chunks embedded as vectors."""
