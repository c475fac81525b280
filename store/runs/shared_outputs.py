"""Outputs that a fork shares with the run that it was forked from: rows that point at the attempt which stored them."""

from typing import Final

SHARED: Final = "shared"
"""The worker of an attempt whose output another run's attempt stored: nothing was computed for it."""

OUTPUT: Final = """
coalesce(a.output, (
    SELECT o.output FROM attempt_source AS f JOIN stage_attempt AS o ON o.id = f.source_id WHERE f.attempt_id = a.id
))
"""
"""The output of the attempt `a`, its own or the shared one."""
