"""Runs written to files, checked without a database, and imported into another."""
