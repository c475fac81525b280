"""Public retrieval sets, as files that `ragq import works` and `ragq submit --queries` read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click


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
    """The folder of public data. Raises ClickException when it is not there."""
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data"))
    if not folder.is_dir():
        raise click.ClickException(f"There is no public data in {folder}; RAGQ_DATA_DIR names its folder.")
    return folder


def documents_of(file: Path) -> Iterator[Document]:
    """The documents of a corpus file in BEIR's form, in its order."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Document(row["_id"], row["title"], row["text"])


def write_works(file: Path, folder: Path) -> int:
    """One markdown file per document, named as judgements name it. How many there are."""
    folder.mkdir(parents=True)
    count = 0
    for document in documents_of(file):
        (folder / f"{document.name}.md").write_text(document.markdown, encoding="utf-8")
        count += 1
    return count
