"""Public retrieval sets, as files that `ragq import works` and `ragq submit --queries` read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click

from schemas.values.query_sets import QuerySet
from stages.queries.query_set import read_query_set


class RetrievalSet(NamedTuple):
    """Where the files of a set are, below the folder of public data."""

    documents: str
    queries: str
    """A folder with `queries.jsonl` and `qrels.tsv`."""


class Document(NamedTuple):
    """One document of a set: one work."""

    name: str
    title: str
    text: str

    @property
    def markdown(self) -> str:
        """The title as its only heading."""
        return f"# {' '.join(self.title.split())}\n\n{self.text}\n"


SETS: Final = {
    "scifact": RetrievalSet("scifact/corpus.jsonl", "scifact"),
    "psychology-sections": RetrievalSet("psychology/sections.jsonl", "psychology/sections"),
    "psychology-definitions": RetrievalSet("psychology/sections.jsonl", "psychology/definitions"),
}


def data_folder() -> Path:
    """The folder of public data. Raises ClickException when it is missing."""
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data"))
    if not folder.is_dir():
        raise click.ClickException(f"There is no public data in {folder}; RAGQ_DATA_DIR names its folder.")
    return folder


def documents_of(file: Path) -> Iterator[Document]:
    """The documents of a corpus file in BEIR's format, in its order."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Document(row["_id"], row["title"], row["text"])


def query_set_of(data: Path, name: str, *, part: Path | None = None) -> QuerySet:
    """Queries and judgements of a set, or those of the queries in a file."""
    queries, qrels = (data / SETS[name].queries / file for file in ("queries.jsonl", "qrels.tsv"))
    queries = queries if part is None else part
    return read_query_set(queries.read_bytes(), qrels.read_bytes(), queries_file=str(queries), qrels_file=str(qrels))


def write_works(file: Path, folder: Path) -> int:
    """Write one markdown file per document, named as in judgements, and return their number."""
    folder.mkdir(parents=True)
    count = 0
    for document in documents_of(file):
        (folder / f"{document.name}.md").write_text(document.markdown, encoding="utf-8")
        count += 1
    return count
