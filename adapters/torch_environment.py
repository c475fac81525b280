"""The environment that torch and the tokenizers beside it read when they are imported."""

import os

from adapters.openmp import let_threads_sleep

_KEPT = 64
"""Programs: those of some sixteen shapes of passes."""


def prepare_torch() -> None:
    """Set the environment of torch; call it before torch is imported. What the environment has set stays.

    Threads without work sleep soon, and tokenizers start no threads of their own.

    oneDNN writes a program for each shape of a multiplication and keeps 1,024; here it keeps few. Passes have hundreds
    of shapes: a process that embedded in bfloat16 grew by 300 MB in 200 requests, and with this by 230 in the first
    100 and by none later.
    """
    let_threads_sleep()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_KEPT))
