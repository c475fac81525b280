"""Documents on the command line: 7 is a work, j345 the job that made one."""

import re
from typing import Any

import click

from services.document_jobs import DocumentTarget

_NUMBER = re.compile(r"(j?)([1-9][0-9]{0,17})", re.IGNORECASE)


class _Document(click.ParamType[DocumentTarget]):
    name = "WORK|JOB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> DocumentTarget:
        if isinstance(value, DocumentTarget):
            return value
        match = _NUMBER.fullmatch(value)
        if match is None:
            self.fail(f"'{value}' is neither a work nor a job; write 7 for a work, j345 for a job.", param, ctx)
        number = int(match[2])
        return DocumentTarget(job_id=number) if match[1] else DocumentTarget(work_id=number)


document_argument = click.argument("target", metavar="WORK|JOB", type=_Document())
