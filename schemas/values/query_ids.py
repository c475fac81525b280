"""The ids that queries have in their run."""

from typing import Final

SINGLE: Final = "1"
"""That of a query that is asked by itself."""
