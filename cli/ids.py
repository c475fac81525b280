"""The names of runs and jobs on the command line: r12 is a run, j345 is a job."""

import re
from typing import Any

import click

from store.runs.job_control import Target

_NAMES = {"r": "run", "j": "job"}


class _Number(click.ParamType[int]):
    def __init__(self, letter: str, name: str) -> None:
        self.letter = letter
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(rf"{self.letter}?([1-9][0-9]{{0,17}})", value, re.IGNORECASE)
        if match is None:
            self.fail(f"'{value}' is not a {self.name.lower()}; {self._advice(value)}", param, ctx)
        return int(match[1])

    def _advice(self, value: str) -> str:
        other = re.fullmatch(r"([rj])([1-9][0-9]{0,17})", value, re.IGNORECASE)
        if other is not None:
            command = "show" if other[1].lower() == "r" else "inspect"
            return f"`ragq {command} {value.lower()}` shows the {_NAMES[other[1].lower()]}."
        number = re.search(r"[1-9][0-9]{0,17}", value)
        return f"did you mean {self.letter}{number[0]}?" if number else f"write it like {self.letter}12."


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
