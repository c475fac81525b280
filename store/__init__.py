"""Postgres, asked in words of the domain. One folder per area."""
