"""Candidate tags for free phrases, out of a closed vocabulary."""
