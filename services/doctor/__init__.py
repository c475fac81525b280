"""What works and what does not: each part of ragq checked by itself, with what to do about it."""
