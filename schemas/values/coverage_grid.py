"""The coverages at which runs are compared, as they are written in a setting and after an option."""

GRID = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"
"""The grid of the published evaluation."""

ALLOWED = "coverages above 0 and up to 1, separated by commas"


def coverage_grid(text: str) -> tuple[float, ...]:
    """The coverages in ascending order, each once. Raises ValueError for anything but numbers above 0 and up to 1.

    >>> coverage_grid("0.5, 0.25,0.5")
    (0.25, 0.5)
    """
    coverages = sorted({float(part) for part in text.split(",")})
    if not all(0 < coverage <= 1 for coverage in coverages):
        raise ValueError(f"allowed are {ALLOWED}")
    return tuple(coverages)


def is_coverage_grid(text: str) -> bool:
    """Whether a text lists coverages."""
    try:
        coverage_grid(text)
    except ValueError:
        return False
    return True
