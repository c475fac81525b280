"""`ragq doctor`: what works here, what does not, and what to do about it."""

import os

import click

from cli.drawing import Text
from cli.output import print_json, print_text
from schemas.settings.layers import ENV_FILE, merged
from services.doctor.examine import examine
from services.doctor.findings import Verdict

_COLOURS = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array: name, verdict, found and remedy of each.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check everything that ragq needs here, with the remedy of what is wrong.

    Versions, settings and the profile of a submission, the embedded stack with its ports, Postgres, pgvector and the
    tables, the broker, workers, the language model server and the models that a submission would ask, the embedder,
    pages, Flower and the disk. All are asked at the same time; nothing is changed.

    Exit codes: 0 nothing fails, 1 something does.

    \b
    Example:
      ragq doctor
      ragq doctor --json
    """
    found = examine({**os.environ, **merged(os.environ, ENV_FILE)})
    if as_json:
        print_json([one._asdict() for one in found])
    else:
        for one in found:
            words = f" {one.name:<15} {one.found}" + (f". {one.remedy}" if one.remedy else "")
            print_text(Text.assemble((f"{one.verdict:<5}", _COLOURS[one.verdict]), words))
    if any(one.verdict is Verdict.FAIL for one in found):
        context.exit(1)
