"""How works become chunks, and chunks become vectors."""
