"""Runs, jobs and works on the command line: r12 or a name is a run, j345 is a job, a number a work."""

import re

from cli.config import with_database
from cli.options import Typed
from schemas.suggestions import did_you_mean
from schemas.values.runs import Target, run_number
from store.runs import runs

_JOB = re.compile(r"j?([1-9][0-9]{0,17})", re.IGNORECASE)
_DIGITS = re.compile(r"[1-9][0-9]{0,17}")
_TARGET = re.compile(r"([rj])([1-9][0-9]{0,17})", re.IGNORECASE)


def _run_of_name(words: str) -> int | None:
    return with_database(runs.by_words, words)


def _suggested(words: str) -> str:
    """The nearest name of a run, or the run of the number that is in the words."""
    number = _DIGITS.search(words)
    if (suggested := did_you_mean(words, with_database(runs.all_names))) or number is None:
        return suggested
    found = with_database(runs.by_words, number[0])
    return "" if found is None else f" Did you mean 'r{found}'?"


def _run(value: str) -> int:
    if _JOB.fullmatch(value) and not value.isdigit():
        raise ValueError(f"'{value}' is a job; `ragq inspect {value}` shows it.")
    number = run_number(value)
    found = _run_of_name(value) if number is None else number
    if found is None:
        problem = f"'{value}' is neither the number of a run, like r12, nor a run's name."
        raise ValueError(problem + _suggested(value))
    return found


def _job(value: str) -> int:
    match = _JOB.fullmatch(value)
    if match is None:
        is_run = _TARGET.fullmatch(value) is not None
        problem = f"a run; `ragq show {value}` lists its jobs." if is_run else "not a job; write it like j12."
        raise ValueError(f"'{value}' is {problem}")
    return int(match[1])


def _target(value: str) -> Target:
    match = _TARGET.fullmatch(value)
    if match is not None:
        number = int(match[2])
        return Target(number, None) if match[1].lower() == "r" else Target(None, number)
    # A number alone may be either.
    found = None if value.isdigit() else _run_of_name(value)
    if found is None:
        problem = f"'{value}' is neither a run nor a job; write r12 or its name for a run, j345 for a job."
        raise ValueError(problem + _suggested(value))
    return Target(found, None)


def _work(value: str) -> int:
    if _DIGITS.fullmatch(value) is None:
        raise ValueError(f"'{value}' is not the number of a work; `ragq corpus show CORPUS` has the numbers.")
    return int(value)


def _document(value: str) -> dict[str, int]:
    match = _JOB.fullmatch(value)
    if match is None:
        raise ValueError(f"'{value}' is neither a work nor a job; write 7 for a work, j345 for a job.")
    return {"work_id" if value.isdigit() else "job_id": int(match[1])}


RUN = Typed("RUN", _run)
JOB = Typed("JOB", _job)
TARGET = Typed("RUN|JOB", _target)
WORK = Typed("WORK", _work)
DOCUMENT = Typed("WORK|JOB", _document)
