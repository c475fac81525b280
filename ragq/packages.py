"""The packages of ragq, and whether Python imports them: their names are common, and another project may have them."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = (
    *("adapters", "api", "cli", "demo", "migrations", "schemas", "services", "stack", "stages", "store", "workers"),
)
_ROOT: Final = Path(__file__).resolve().parents[1]


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
