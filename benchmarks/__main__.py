"""`python -m benchmarks NAME`: one benchmark, one file."""

from typing import Final

import click

from benchmarks.answers import answers, floor
from benchmarks.api import api
from benchmarks.documents import documents
from benchmarks.flow import flow
from benchmarks.hop import hop
from benchmarks.imports import imports
from benchmarks.retrieval import retrieval
from benchmarks.scorers import scorers
from benchmarks.soak import soak
from benchmarks.tags import tags

BENCHMARKS: Final[dict[str, click.Command]] = {
    "answers": answers,
    "api": api,
    "documents": documents,
    "floor": floor,
    "flow": flow,
    "hop": hop,
    "imports": imports,
    "retrieval": retrieval,
    "scorers": scorers,
    "soak": soak,
    "tags": tags,
}


@click.group(commands=BENCHMARKS, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure ragq on this machine, with temporary servers.

    Example:

    \b
        python -m benchmarks hop
    """


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
