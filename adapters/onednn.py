"""How many of the programs that oneDNN writes for torch stay in memory."""

import os

_KEPT = 64
"""Programs: those of some sixteen shapes of passes."""


def bound_programs() -> None:
    """Have oneDNN keep few of the programs it writes; call it before torch is imported.

    It writes one for each shape of a multiplication and keeps 1,024. Passes have hundreds of shapes: a process that
    embedded in bfloat16 grew by 300 MB in 200 requests, and with this by 230 in the first 100 and by none later. What
    the environment says of ONEDNN_PRIMITIVE_CACHE_CAPACITY stays.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_KEPT))
