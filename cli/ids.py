"""The names of runs and jobs on the command line: r12 is a run, j345 is a job."""

import re
from typing import Any

import click

from store.runs.job_control import Target


class _Number(click.ParamType[int]):
    def __init__(self, letter: str, name: str) -> None:
        self.letter = letter
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(rf"{self.letter}?([1-9][0-9]{{0,17}})", value, re.IGNORECASE)
        if match is None:
            self.fail(f"'{value}' is not a {self.name.lower()}; write it like {self.letter}12.", param, ctx)
        return int(match[1])


class _Target(click.ParamType[Target]):
    name = "RUN|JOB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        if isinstance(value, Target):
            return value
        match = re.fullmatch(r"([rj])([1-9][0-9]{0,17})", value, re.IGNORECASE)
        if match is None:
            self.fail(f"'{value}' is neither a run nor a job; write r12 for a run, j345 for a job.", param, ctx)
        number = int(match[2])
        return Target(number, None) if match[1].lower() == "r" else Target(None, number)


RUN = _Number("r", "RUN")
JOB = _Number("j", "JOB")
TARGET = _Target()
