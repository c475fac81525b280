"""The end of a log, for an error message."""

from pathlib import Path

TAIL_BYTES = 16_384


def last_lines(path: Path, count: int = 15) -> str:
    """The last lines of a log file, indented; a sentence where there is nothing to show."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return "  (no log was written)"
    return "\n".join(f"  {line}" for line in lines[-count:]) or "  (the log is empty)"
