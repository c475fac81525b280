"""Candidate tags for free phrases, from a closed vocabulary."""
