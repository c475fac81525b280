"""Vocabularies, and the results of tags runs."""
