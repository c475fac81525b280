"""ragq in Python: runs submitted, followed, reported and compared, as in the command line; for notebooks and scripts.

>>> import ragq
>>> lab = ragq.connect()                                    # doctest: +SKIP
>>> run = lab.run("baseline")                               # doctest: +SKIP
>>> run.jobs().to_pandas()                                  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragq.lab import (
        Lab,
        ParticipantRequest,
        Prices,
        QueryRequest,
        QuerySet,
        Refused,
        SubmittedQuery,
        TagsRequest,
        connect,
        verify,
    )
    from ragq.runs import Run
    from ragq.tables import Table

__all__ = [
    "Lab",
    "ParticipantRequest",
    "Prices",
    "QueryRequest",
    "QuerySet",
    "Refused",
    "Run",
    "SubmittedQuery",
    "Table",
    "TagsRequest",
    "connect",
    "verify",
]

_MODULES = {"Run": "ragq.runs", "Table": "ragq.tables"}


def __getattr__(name: str) -> Any:
    # The script `ragq` starts with this package too, and needs none of it.
    if name not in __all__:
        raise AttributeError(f"module 'ragq' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_MODULES.get(name, "ragq.lab")), name)


def __dir__() -> list[str]:
    return __all__
