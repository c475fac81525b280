"""The entry of the script `ragq`: its packages have common names, and another project may have them too."""

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = (
    *("adapters", "api", "cli", "demo", "migrations", "schemas", "services", "stack", "stages", "store", "workers"),
)
_ROOT: Final = Path(__file__).resolve().parents[1]
REFUSED = 1


def shadowing() -> Iterator[tuple[str, Path]]:
    """The packages that Python imports instead of ragq's, by name and place."""
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None:
            yield name, _ROOT / name
            continue
        origin = Path(spec.origin or next(iter(spec.submodule_search_locations or ()), "")).resolve()
        if _ROOT / name not in (origin, origin.parent):
            yield name, origin


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
