"""Interviews, and the reference indexes that are built from them."""
