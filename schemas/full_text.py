"""How full text is read: the one place that has the language of texts and of questions."""

from typing import Final

CONFIGURATION: Final = "english"
"""Postgres's text search configuration. What is stored was read by it: another one needs a migration of the chunks."""
