"""Numbers as people read them. None is "N/A", never 0."""

from collections.abc import Mapping
from datetime import timedelta

from schemas.values.scoring import Interval

NOT_AVAILABLE = "N/A"
NO_INTERVAL = "too few"


def number(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of digits."""
    return NOT_AVAILABLE if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in per cent.

    >>> percent(0.4879), percent(None)
    ('48.8', 'N/A')
    """
    return NOT_AVAILABLE if value is None else f"{100 * value:.1f}"


def tokens_in_words(prompt: int | None, reply: int | None) -> str:
    """Tokens of prompts and of replies.

    >>> tokens_in_words(1200, 30), tokens_in_words(None, 30)
    ('1,200 + 30', 'N/A')
    """
    return NOT_AVAILABLE if prompt is None or reply is None else f"{prompt:,} + {reply:,}"


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "job"), counted(2, "job")
    ('1 job', '2 jobs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def counts_or_none(counts: Mapping[str, int]) -> str:
    """Counts by name.

    >>> counts_or_none({"json_parse": 2, "cut_off": 1}), counts_or_none({})
    ('2 json_parse, 1 cut_off', 'none')
    """
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def bounds(interval: Interval, digits: int = 3) -> str:
    """The ends of an interval; nothing where there is no value, and words where too few have one."""
    if interval.low is None or interval.high is None:
        return "" if interval.value is None else NO_INTERVAL
    return f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def percent_bounds(interval: Interval) -> str:
    """The ends of the interval of a share, in per cent; without one, as `bounds`."""
    if interval.low is None or interval.high is None:
        return bounds(interval)
    return f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def duration(seconds: float | None) -> str:
    """Hours, minutes and seconds: `0:01:05`."""
    return NOT_AVAILABLE if seconds is None else str(timedelta(seconds=round(seconds)))
