"""Retrieval sets in BEIR's format, as files that `ragq import works` and `ragq submit --queries` read."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click

from schemas.values.queries import QuerySet
from stages.queries.query_files import BEIR_HEADER, MAX_CHARS, read_query_set

_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


class RetrievalSet(NamedTuple):
    """The files of a set."""

    documents: Path
    queries: Path
    qrels: Path


class Document(NamedTuple):
    """One document of a set: one work."""

    name: str
    title: str
    text: str

    @property
    def markdown(self) -> str:
        """The title as its only heading."""
        return f"# {' '.join(self.title.split())}\n\n{self.text}\n"


class RetrievalCorpus(NamedTuple):
    """The documents of a set as works."""

    documents: list[Document]
    """Each text once."""
    name_of: dict[str, str]
    """The name of the work that has a document's text, by the document's id. Documents without text have none."""


#: The documents and the folder of `queries.jsonl` and `qrels.tsv`, below the folder of public data.
SETS: Final = {
    "scifact": ("scifact/corpus.jsonl", "scifact"),
    "psychology-sections": ("psychology/sections.jsonl", "psychology/sections"),
    "psychology-definitions": ("psychology/sections.jsonl", "psychology/definitions"),
}


def data_folder() -> Path:
    """The folder of public data. Raises ClickException when it is missing."""
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data"))
    if not folder.is_dir():
        raise click.ClickException(f"There is no public data in {folder}; RAGQ_DATA_DIR names its folder.")
    return folder


def public_set(data: Path, name: str) -> RetrievalSet:
    """A set of the folder of public data."""
    documents, queries = SETS[name]
    return RetrievalSet(data / documents, data / queries / "queries.jsonl", data / queries / "qrels.tsv")


def beir_set(folder: Path) -> RetrievalSet:
    """A set in BEIR's layout. Raises ClickException with the files that are missing."""
    judged = [folder / "qrels" / "test.tsv", folder / "qrels.tsv"]
    found = RetrievalSet(
        folder / "corpus.jsonl",
        folder / "queries.jsonl",
        next((file for file in judged if file.is_file()), judged[0]),
    )
    if missing := [str(file.relative_to(folder)) for file in found if not file.is_file()]:
        raise click.ClickException(
            f"{folder} is no BEIR folder: it has no {', '.join(missing)}. It needs corpus.jsonl, queries.jsonl, and "
            "qrels/test.tsv or qrels.tsv."
        )
    return found


def documents_of(file: Path) -> Iterator[Document]:
    """The documents of a corpus file, in its order."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Document(str(row["_id"]), row.get("title") or "", row["text"])


def corpus_of(file: Path) -> RetrievalCorpus:
    """The documents as works: equal texts become one, and an id that cannot name a file becomes its number."""
    works: dict[str, Document] = {}
    name_of = {}
    for number, document in enumerate(documents_of(file), start=1):
        if not document.markdown.strip("# \n"):
            continue
        name = document.name if _FILE_NAME.fullmatch(document.name) else f"document-{number}"
        work = works.setdefault(document.markdown, document._replace(name=name))
        name_of[document.name] = work.name
    return RetrievalCorpus(list(works.values()), name_of)


def write_works(documents: Iterable[Document], folder: Path) -> None:
    """Write one markdown file per document."""
    folder.mkdir(parents=True)
    for document in documents:
        (folder / f"{document.name}.md").write_text(document.markdown, encoding="utf-8")


def write_queries(
    found: RetrievalSet, name_of: dict[str, str], folder: Path, *, half: str | None = None
) -> RetrievalSet:
    """Write `queries.jsonl` and `qrels.tsv`, with works instead of documents, and return the set with these files.

    Queries without judgement are left out, and those that are longer than a query may be are cut. With `half` only
    every second query is written, from the first (dev) or from the second one (test). A work with the text of several
    documents has the highest of their judgements.
    """
    judged: dict[tuple[str, str], int] = {}
    for judgement in query_set_of(found).judgements:
        key = judgement.query_id, name_of.get(judgement.document, judgement.document)
        judged[key] = max(judgement.relevance, judged.get(key, judgement.relevance))
    ids = {query for query, _ in judged}
    queries = [query for query in _queries(found.queries) if query["_id"] in ids]
    if half is not None:
        queries = queries[0 if half == "dev" else 1 :: 2]
    folder.mkdir(parents=True)
    lines = [json.dumps(query, ensure_ascii=False) for query in queries]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [BEIR_HEADER, *((query, work, str(relevance)) for (query, work), relevance in judged.items())]
    (folder / "qrels.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return RetrievalSet(found.documents, folder / "queries.jsonl", folder / "qrels.tsv")


def query_set_of(found: RetrievalSet) -> QuerySet:
    """Queries and judgements of a set."""
    queries = "\n".join(json.dumps(query, ensure_ascii=False) for query in _queries(found.queries))
    return read_query_set(
        queries.encode(), found.qrels.read_bytes(), queries_file=str(found.queries), qrels_file=str(found.qrels)
    )


def _queries(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield {"_id": str(row["_id"]), "text": row["text"].strip()[:MAX_CHARS]}
