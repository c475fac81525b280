"""`python -m benchmarks NAME`: one benchmark, one file."""

from typing import Final

import click

from benchmarks.api import api
from benchmarks.audit import audit_benchmark
from benchmarks.documents import documents
from benchmarks.embedded_llm import embedded_llm
from benchmarks.embedding import embedding
from benchmarks.estimates import estimates
from benchmarks.flow import flow
from benchmarks.growth import growth
from benchmarks.hop import hop
from benchmarks.imports import imports
from benchmarks.injection import injection
from benchmarks.llm_slots import llm_slots
from benchmarks.llm_threads import llm_threads
from benchmarks.paper_test import paper_test
from benchmarks.reads import reads
from benchmarks.recovery import recovery
from benchmarks.resampling import resampling
from benchmarks.retrieval import retrieval
from benchmarks.search import search
from benchmarks.soak import soak
from benchmarks.startup import startup
from benchmarks.table_search import table_search
from benchmarks.tag_building import tags_build
from benchmarks.tag_queue import tags_queue
from benchmarks.tags import tags
from benchmarks.validator import validator

BENCHMARKS: Final[dict[str, click.Command]] = {
    "api": api,
    "audit": audit_benchmark,
    "documents": documents,
    "embedded-llm": embedded_llm,
    "embedding": embedding,
    "estimates": estimates,
    "flow": flow,
    "growth": growth,
    "hop": hop,
    "imports": imports,
    "injection": injection,
    "llm-slots": llm_slots,
    "llm-threads": llm_threads,
    "paper-test": paper_test,
    "reads": reads,
    "recovery": recovery,
    "resampling": resampling,
    "retrieval": retrieval,
    "search": search,
    "soak": soak,
    "startup": startup,
    "table-search": table_search,
    "tags": tags,
    "tags-build": tags_build,
    "tags-queue": tags_queue,
    "validator": validator,
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
