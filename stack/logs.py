"""The logs of the parts: their ends, and what is added to them."""

import logging
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import structlog

TAIL_BYTES = 16_384
POLL_S = 0.2


def last_lines(path: Path, count: int = 15) -> str:
    """The last lines of a log file, indented; a sentence where there is nothing to show."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return "  (no log was written)"
    return "\n".join(f"  {line}" for line in lines[-count:]) or "  (the log is empty)"


def last_of(path: Path, count: int) -> list[str]:
    """The last lines of a log file, whatever their length."""
    with path.open(encoding="utf-8", errors="replace") as log:
        return [line.rstrip("\n") for line in deque(log, maxlen=count)]


def followed(paths: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Each line that is added to a log from now on, with the name of its log; without end.

    A log that is made, rotated or emptied meanwhile is read from its beginning.
    """
    logs = {name: _Followed(path) for name, path in paths.items()}
    while True:
        added = [(name, line) for name, log in logs.items() for line in log.added()]
        yield from added
        if not added:
            time.sleep(POLL_S)


class _Followed:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode, self._read = self._look() or (0, 0)
        self._partial = b""

    def added(self) -> list[str]:
        """The whole lines that are new."""
        found = self._look()
        if found is None or found == (self._inode, self._read):
            return []
        inode, size = found
        if inode != self._inode or size < self._read:
            self._inode, self._read, self._partial = inode, 0, b""
        with self._path.open("rb") as log:
            log.seek(self._read)
            added = log.read()
        self._read += len(added)
        *lines, self._partial = (self._partial + added).split(b"\n")
        return [line.decode(errors="replace") for line in lines]

    def _look(self) -> tuple[int, int] | None:
        try:
            seen = self._path.stat()
        except FileNotFoundError:
            return None
        return seen.st_ino, seen.st_size


class _Logger(structlog.WriteLogger):
    """Writes lines to stderr as they are, which costs a third of a record of the standard library."""

    def __init__(self, name: str = "ragq") -> None:
        super().__init__(sys.stderr)
        self.name = name


def configure(level: str, log_format: str) -> None:
    """Send structlog's events and the standard library's records to stderr in one shape."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_Logger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    # Celery logs each task twice at INFO and each failure with its traceback; the frame logs what happened once.
    for name in ("celery", "kombu", "amqp", "httpx", "httpcore", "sentence_transformers", "transformers"):
        logging.getLogger(name).setLevel(max(logging.getLevelName(level), logging.WARNING))
    logging.getLogger("celery.app.trace").setLevel(logging.CRITICAL)
