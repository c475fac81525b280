"""ragq in Python: runs submitted, followed and read, as in the command line; for notebooks and scripts.

>>> import ragq
>>> lab = ragq.connect()                                    # doctest: +SKIP
>>> lab.run("baseline").scores_table().to_pandas()          # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragq.lab import (
        Lab,
        ParticipantRequest,
        QueryRequest,
        QuerySet,
        Refused,
        Run,
        Score,
        SubmittedQuery,
        TagsRequest,
        connect,
    )

__all__ = [
    "Lab",
    "ParticipantRequest",
    "QueryRequest",
    "QuerySet",
    "Refused",
    "Run",
    "Score",
    "SubmittedQuery",
    "TagsRequest",
    "connect",
]


def __getattr__(name: str) -> Any:
    # The script `ragq` starts with this package too, and needs none of it.
    if name not in __all__:
        raise AttributeError(f"module 'ragq' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("ragq.lab"), name)


def __dir__() -> list[str]:
    return __all__
