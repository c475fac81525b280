"""Corpora: works, chunks, their vectors and postings, and the search over them."""
