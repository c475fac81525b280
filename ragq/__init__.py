"""ragq in Python: runs submitted, followed and read, as in the command line; for notebooks and scripts.

>>> import ragq
>>> lab = ragq.connect()                                    # doctest: +SKIP
>>> lab.run("baseline").scores_table().to_pandas()          # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragq.lab import *  # noqa: F403  (the names are listed there)


def __getattr__(name: str) -> Any:
    # The script `ragq` starts with this package too, and needs none of it.
    from importlib import import_module

    lab = import_module("ragq.lab")
    if name not in lab.__all__:
        raise AttributeError(f"module 'ragq' has no attribute '{name}'")
    return getattr(lab, name)
