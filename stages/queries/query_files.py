"""Files of queries and of relevance judgements, parsed and combined into a set that can be submitted."""

import re
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import Final

from schemas.errors import QueryValueError
from schemas.values.base import can_be_stored
from schemas.values.participants import FileProblem
from schemas.values.requests import SINGLE, SubmittedQuery
from stages.corpora.works import SUFFIX
from stages.records import Parsed, ProblemsFound, numbered_lines, parse_records

MAX_CHARS: Final = 2000
"""Of the text of a query."""

_WHAT_TO_DO: Final = f'write {{"_id": "...", "text": "..."}} on one line, with at most {MAX_CHARS} characters of text'


def parse_queries(data: bytes, *, file: str) -> Parsed[tuple[SubmittedQuery, ...]]:
    r"""Read the queries of a JSONL file: an id under `_id` or `id`, the text under `text` or `query`.

    `judgements` maps documents to their relevance. A number as id becomes its digits. Other keys are extra fields of
    their query. Problems name the line, never its content.

    >>> parse_queries(b'{"_id": "7", "text": "Why is the sky blue?"}\n', file="q.jsonl").value[0].id
    '7'
    """
    read = numbered_lines(data, file=file, what_to_do=_WHAT_TO_DO)
    query = partial(SubmittedQuery.model_validate_json, extra="allow")
    return parse_records(query, read, file=file, what_to_do=_WHAT_TO_DO)


BEIR_HEADER: Final = ("query-id", "corpus-id", "score")

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4}")


Judgements = dict[str, dict[str, int]]
"""The relevance of documents, by query."""


def parse_qrels(data: bytes, *, file: str) -> Parsed[Judgements]:
    r"""Read the judgements of a file.

    A first line `query-id corpus-id score` in TABs marks a file of BEIR. Without it every line has TREC's columns:
    query, iteration (ignored), document, relevance, separated by white space. Problems name the line, never a cell.

    >>> parse_qrels(b"q1 0 d9 2\n", file="qrels.txt").value
    {'q1': {'d9': 2}}
    """
    what_to_do = f"write {' '.join(BEIR_HEADER)} in TABs, and a judgement a line"
    lines, problems = numbered_lines(data, file=file, what_to_do=what_to_do)
    found = list(problems)
    is_beir = any(_cells(text, is_beir=True) == BEIR_HEADER for _, text in islice(lines, 1))
    form = " in TABs" if is_beir else f": a line of TREC, or {' '.join(BEIR_HEADER)} in TABs as the first line"
    judgements: Judgements = {}
    line_of: dict[tuple[str, str], int] = {}
    for line, text in islice(lines, is_beir, None):
        cells = _cells(text, is_beir=is_beir)
        if problem := _problem(cells, is_beir=is_beir):
            found.append(FileProblem(file, line, problem, f"write a query, a document and a whole number{form}"))
            continue
        query_id, document, relevance = cells if is_beir else (cells[0], *cells[2:])
        if (first := line_of.setdefault((query_id, document), line)) != line:
            again = f"repeats the query and the document of line {first}"
            found.append(FileProblem(file, line, again, "keep one of them"))
        else:
            judgements.setdefault(query_id, {})[document] = int(relevance)
    return Parsed(judgements, tuple(found))


def _cells(line: str, *, is_beir: bool) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in (line.split("\t") if is_beir else line.split()))


def _problem(cells: tuple[str, ...], *, is_beir: bool) -> str | None:
    """What is wrong with a line."""
    expected = 3 if is_beir else 4
    if len(cells) != expected:
        return f"has {len(cells)} columns instead of {expected}"
    query_id, document, relevance = cells[0], cells[-2], cells[-1]
    if not query_id or not document:
        return "has a blank id"
    if not can_be_stored(query_id + document):
        return "contains a NUL character, which Postgres cannot store"
    return "has a relevance that is not a whole number" if _WHOLE.fullmatch(relevance) is None else None


def read_query_set(
    queries: bytes, qrels: bytes | None = None, *, queries_file: str, qrels_file: str = ""
) -> tuple[tuple[SubmittedQuery, ...], list[str]]:
    """Read both files: the queries with their judgements, and what of the files is not used. Raises ProblemsFound with
    the problems of both: judgements in both are one too, and judgements of other queries alone."""
    found, query_problems = parse_queries(queries, file=queries_file)
    judgements, qrels_problems = Parsed[Judgements]({}) if qrels is None else parse_qrels(qrels, file=qrels_file)
    problems = [*query_problems, *qrels_problems]
    of_others = judgements.keys() - {query.id for query in found}
    if judgements and any(query.judgements for query in found):
        again = f"judges queries, which {queries_file} does too"
        problems.append(FileProblem(qrels_file, None, again, "keep one of them"))
    if judgements and len(of_others) == len(judgements) and not problems:
        strange = f"judges none of the {len(found)} queries of {queries_file}"
        problems.append(FileProblem(qrels_file, None, strange, "give the judgements of these queries"))
    if problems:
        raise ProblemsFound(problems, of="query set", consequence="nothing was submitted")
    notices = []
    if ignored := sorted({key for query in found for key in query.model_extra or ()}):
        notices.append(f"Ignored keys of {queries_file}: {', '.join(ignored)}.")
    if of_others:
        left_out = sum(len(judgements[query_id]) for query_id in of_others)
        notices.append(f"{left_out} judgements of {qrels_file} are of other queries.")
    judged = [
        query.model_copy(update={"judgements": judgements[query.id]}) if query.id in judgements else query
        for query in found
    ]
    return tuple(judged), notices


_MARKDOWN = (".md", ".markdown")


def document_name(source_path: str) -> str:
    """The name of the file that a work was imported from, without a markdown suffix. A work from a line of a corpus
    has its id, which may hold slashes.

    >>> document_name("/data/dbpedia/corpus.jsonl/<dbpedia:AC/DC>.md"), document_name("/data/scifact/31715818.md")
    ('<dbpedia:AC/DC>', '31715818')
    """
    _, is_line, name_in_corpus = source_path.partition(f"{SUFFIX}/")
    if is_line:
        return name_in_corpus.removesuffix(_MARKDOWN[0])
    name = PurePath(source_path)
    return name.stem if name.suffix.lower() in _MARKDOWN else name.name


def single_query(text: str) -> tuple[SubmittedQuery]:
    """A set of one query. Raises QueryValueError for a text that cannot be asked."""
    return (SubmittedQuery(id=SINGLE, text=query_text(text)),)


def query_text(text: str) -> str:
    """The text of a query without blanks around it. Raises QueryValueError for one that cannot be asked."""
    text = text.strip()
    if not text:
        raise QueryValueError("original_query", "is blank; write something")
    if len(text) > MAX_CHARS:
        raise QueryValueError("original_query", f"has {len(text)} characters; at most {MAX_CHARS} are allowed")
    if not can_be_stored(text):
        raise QueryValueError("original_query", "holds NUL, or half of a surrogate pair")
    return text
