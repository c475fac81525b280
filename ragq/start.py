"""The entry of the script `ragq`."""

import sys
from importlib import import_module

from ragq.packages import shadowing

REFUSED = 1


def main() -> None:
    """Run the command line; refuse where Python would import other packages than ragq's."""
    if foreign := list(shadowing()):
        lines = [f"ragq: Python imports '{name}' from {place}, which is not ragq's." for name, place in foreign]
        advice = (
            "Install ragq in an environment of its own, and take folders with such packages out of PYTHONPATH: "
            "`env -u PYTHONPATH ragq --version` shows whether that helps."
        )
        print("\n".join([*lines, advice]), file=sys.stderr)
        sys.exit(REFUSED)
    # By name: where others are imported, ragq's may not even exist.
    import_module("cli.main").main()
