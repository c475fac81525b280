"""Runs, jobs and works on the command line: r12 or a name is a run, j345 is a job, a number a work."""

import re

from cli.config import with_database
from cli.options import Typed
from schemas.suggestions import did_you_mean
from schemas.values.runs import Target
from store.runs import runs

_NUMBER = re.compile(r"([rj]?)([1-9][0-9]{0,17})", re.IGNORECASE)


def _numbered(value: str) -> tuple[str | None, int]:
    """The letter before a number, which may be empty, and the number; None and 0 for what is none."""
    match = _NUMBER.fullmatch(value.strip())
    return (None, 0) if match is None else (match[1].lower(), int(match[2]))


def _named(value: str, problem: str) -> int:
    """The run of a name. Raises ValueError with the nearest name."""
    found = with_database(runs.by_words, value)
    if found is None:
        raise ValueError(problem + did_you_mean(value, with_database(runs.all_names)))
    return found


def _run(value: str) -> int:
    letter, number = _numbered(value)
    if letter == "j":
        raise ValueError(f"'{value}' is a job; `ragq inspect {value}` shows it.")
    return number or _named(value, f"'{value}' is neither the number of a run, like r12, nor a run's name.")


def _job(value: str) -> int:
    letter, number = _numbered(value)
    if letter == "r":
        raise ValueError(f"'{value}' is a run; `ragq show {value}` lists its jobs.")
    if letter is None:
        raise ValueError(f"'{value}' is not a job; write it like j12.")
    return number


def _target(value: str) -> Target:
    letter, number = _numbered(value)
    if letter == "j":
        return Target(None, number)
    # A number alone may be either.
    problem = f"'{value}' is neither a run nor a job; write r12 or its name for a run, j345 for a job."
    if letter == "":
        raise ValueError(problem)
    return Target(number or _named(value, problem), None)


def _work(value: str) -> int:
    letter, number = _numbered(value)
    if letter != "":
        raise ValueError(f"'{value}' is not the number of a work; `ragq corpus show CORPUS` has the numbers.")
    return number


def _document(value: str) -> dict[str, int]:
    letter, number = _numbered(value)
    if letter not in ("", "j"):
        raise ValueError(f"'{value}' is neither a work nor a job; write 7 for a work, j345 for a job.")
    return {"job_id" if letter else "work_id": number}


RUN = Typed("RUN", _run)
JOB = Typed("JOB", _job)
TARGET = Typed("RUN|JOB", _target)
WORK = Typed("WORK", _work)
DOCUMENT = Typed("WORK|JOB", _document)
