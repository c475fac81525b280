"""Runs, jobs and works on the command line: r12 or a name is a run, j345 is a job, a number a work."""

import re
from typing import Any

import click

from cli.config import with_database
from schemas.suggestions import did_you_mean
from schemas.values.runs import Target, run_number
from store.runs import run_names

_JOB = re.compile(r"j?([1-9][0-9]{0,17})", re.IGNORECASE)
_DIGITS = re.compile(r"[1-9][0-9]{0,17}")
_TARGET = re.compile(r"([rj])([1-9][0-9]{0,17})", re.IGNORECASE)


def _run_of_name(words: str) -> int | None:
    return with_database(lambda connection: run_names.find(connection, words))


def _suggested(words: str) -> str:
    """The nearest name of a run, or the run of the number that is in the words."""
    number = _DIGITS.search(words)
    if (suggested := did_you_mean(words, with_database(run_names.all_names))) or number is None:
        return suggested
    found = with_database(lambda connection: run_names.find(connection, number[0]))
    return "" if found is None else f" Did you mean 'r{found}'?"


class _Run(click.ParamType[int]):
    name = "RUN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if _JOB.fullmatch(value) and not value.isdigit():
            self.fail(f"'{value}' is a job; `ragq inspect {value}` shows it.", param, ctx)
        number = run_number(value)
        found = _run_of_name(value) if number is None else number
        if found is None:
            problem = f"'{value}' is neither the number of a run, like r12, nor a run's name."
            self.fail(problem + _suggested(value), param, ctx)
        return found


class _Job(click.ParamType[int]):
    name = "JOB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _JOB.fullmatch(value)
        if match is None:
            is_run = _TARGET.fullmatch(value) is not None
            problem = f"a run; `ragq show {value}` lists its jobs." if is_run else "not a job; write it like j12."
            self.fail(f"'{value}' is {problem}", param, ctx)
        return int(match[1])


class _Target(click.ParamType[Target]):
    name = "RUN|JOB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        if isinstance(value, Target):
            return value
        match = _TARGET.fullmatch(value)
        if match is not None:
            number = int(match[2])
            return Target(number, None) if match[1].lower() == "r" else Target(None, number)
        # A number alone may be either.
        found = None if value.isdigit() else _run_of_name(value)
        if found is None:
            problem = f"'{value}' is neither a run nor a job; write r12 or its name for a run, j345 for a job."
            self.fail(problem + _suggested(value), param, ctx)
        return Target(found, None)


class _Work(click.ParamType[int]):
    name = "WORK"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if _DIGITS.fullmatch(value) is None:
            self.fail(f"'{value}' is not the number of a work; `ragq corpus show CORPUS` has the numbers.", param, ctx)
        return int(value)


RUN = _Run()
JOB = _Job()
TARGET = _Target()
WORK = _Work()
