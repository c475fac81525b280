"""What a bundle contains, and what of it is text."""
