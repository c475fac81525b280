"""The entry of the script `ragq`."""

import gc
import sys
from importlib import import_module

from ragq.packages import shadowing

REFUSED = 1

#: New objects between two searches for cycles: at the 700 of Python, a command that imports and ends makes a hundred.
GARBAGE_THRESHOLD = 10_000


def main() -> None:
    """Run the command line; refuse where Python would import other packages than ragq's."""
    if foreign := list(shadowing()):
        lines = [f"ragq: Python imports '{one.name}' from {one.place}, which is not ragq's." for one in foreign]
        advice = (
            "Install ragq in an environment of its own, and take folders with such packages out of PYTHONPATH: "
            "`env -u PYTHONPATH ragq --version` shows whether that helps."
        )
        print("\n".join([*lines, advice]), file=sys.stderr)
        sys.exit(REFUSED)
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        # By name: where others are imported, ragq's may not even exist.
        import_module("cli.main").main()
    finally:
        # The process ends, and its memory with it: a last search for cycles would take a tenth of a short command.
        gc.freeze()
