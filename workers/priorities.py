"""Which work comes first: in the queues of the broker, and in the passes of an embedding model."""

from typing import Final

#: Work that somebody waits for.
FIRST: Final = 0
#: Indexing, which may be hours of work: it takes what the other work leaves.
BACKGROUND: Final = 6
PRIORITIES: Final = (FIRST, BACKGROUND)
"""Lower comes first, as in the Redis transport of Celery, which has a list per queue and priority."""


def priority_of(kind: str) -> int:
    """That of the jobs of a kind."""
    return BACKGROUND if kind == "index" else FIRST
