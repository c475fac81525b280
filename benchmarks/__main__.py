"""`python -m benchmarks NAME`: one benchmark, one file."""

import click

from benchmarks.api import api
from benchmarks.documents import documents
from benchmarks.flow import flow
from benchmarks.gate import gate
from benchmarks.hop import hop
from benchmarks.imports import imports
from benchmarks.retrieval import retrieval
from benchmarks.soak import soak
from benchmarks.tags import tags


@click.group(
    commands=[api, documents, flow, gate, hop, imports, retrieval, soak, tags],
    context_settings={"help_option_names": ["-h", "--help"]},
)
def main() -> None:
    """Measure ragq on this machine, with temporary servers.

    \b
    Example:
        python -m benchmarks hop
    """


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
