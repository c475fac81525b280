"""The logs of the parts: their ends, and what is added to them."""

import logging
import sys
from pathlib import Path

import structlog


def last_lines(path: Path) -> str:
    """The last lines of a log file, indented; a sentence where there is nothing to show."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - 16_384))
            lines = log.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return "  (no log was written)"
    return "\n".join(f"  {line}" for line in lines[-15:]) or "  (the log is empty)"


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
