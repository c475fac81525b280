"""Which work comes first: in the queues of the broker, and in the passes of an embedding model."""

from typing import Final

from schemas.chains import INDEXING

#: Work that somebody waits for.
FIRST: Final = 0
#: Sets of work. Version 0.9 has its indexing here, so that its workers take what this version sends.
NORMAL: Final = 6
#: Indexing, which may be hours of work: it takes what the other work leaves.
BACKGROUND: Final = 9
PRIORITIES: Final = (FIRST, NORMAL, BACKGROUND)
"""Lower comes first, as in the Redis transport of Celery, which has a list per queue and priority."""


def priority_of(kind: str) -> int:
    """That of the jobs of a kind in the passes of a model."""
    return BACKGROUND if kind in INDEXING else FIRST
