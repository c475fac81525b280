"""Files of queries and of relevance judgements, parsed and combined into a set that can be submitted."""

import re
from itertools import islice
from pathlib import PurePath
from typing import Annotated, Final

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from schemas.errors import QueryValueError
from schemas.values.base import NumberAsText, Storable, can_be_stored
from schemas.values.participants import FileProblem
from schemas.values.queries import SINGLE, QuerySet, Relevance, RelevanceJudgement, SubmittedQuery
from stages.corpora.works import SUFFIX
from stages.records import Parsed, ProblemsFound, numbered_lines, parse_records

MAX_CHARS: Final = 2000
"""Of the text of a query."""

MAX_REFERENCE_CHARS: Final = 20_000
"""Of a reference answer."""

_WHAT_TO_DO: Final = f'write {{"_id": "...", "text": "..."}} on one line, with at most {MAX_CHARS} characters of text'


_Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Storable, NumberAsText]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CHARS), Storable]
_Reference = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REFERENCE_CHARS), Storable
]
_Document = Annotated[str, StringConstraints(min_length=1), Storable]


def _without_names(value: object, validated: ValidatorFunctionWrapHandler) -> object:
    """What is wrong with judgements, without the documents that they name."""
    try:
        return validated(value)
    except ValidationError:
        raise PydanticCustomError("judgements", "Should map documents to whole numbers of at most 4 digits") from None


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: _Id = Field(validation_alias=AliasChoices("_id", "id"))
    text: _Text = Field(validation_alias=AliasChoices("text", "query"))

    reference_answer: _Reference | None = None

    judgements: Annotated[dict[_Document, Annotated[Relevance, Strict()]], WrapValidator(_without_names)] = {}


def parse_queries(data: bytes, *, file: str) -> Parsed[QuerySet]:
    r"""Read the queries of a JSONL file: an id under `_id` or `id`, the text under `text` or `query`.

    `judgements` maps documents to their relevance. A number as id becomes its digits. Other keys are listed. Problems
    name the line, never its content.

    >>> parse_queries(b'{"_id": "7", "text": "Why is the sky blue?"}\n', file="q.jsonl").value.queries[0].external_id
    '7'
    """
    read = numbered_lines(data, file=file, what_to_do=_WHAT_TO_DO)
    lines, problems = parse_records(_Line.model_validate_json, read, file=file, what_to_do=_WHAT_TO_DO)
    queries = tuple(
        SubmittedQuery(external_id=line.id, text=line.text, reference_answer=line.reference_answer) for line in lines
    )
    judgements = tuple(
        RelevanceJudgement(query_id=line.id, document=document, relevance=relevance)
        for line in lines
        for document, relevance in line.judgements.items()
    )
    left_out = sorted({key for line in lines for key in line.model_extra or ()})
    return Parsed(QuerySet(queries=queries, judgements=judgements, left_out_keys=tuple(left_out)), problems)


BEIR_HEADER: Final = ("query-id", "corpus-id", "score")

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4}")


def parse_qrels(data: bytes, *, file: str) -> Parsed[tuple[RelevanceJudgement, ...]]:
    r"""Read the judgements in the order of the file.

    A first line `query-id corpus-id score` in TABs marks a file of BEIR. Without it every line has TREC's columns:
    query, iteration (ignored), document, relevance, separated by white space. Problems name the line, never a cell.

    >>> parse_qrels(b"q1 0 d9 2\n", file="qrels.txt").value
    (RelevanceJudgement(query_id='q1', document='d9', relevance=2),)
    """
    what_to_do = f"write {' '.join(BEIR_HEADER)} in TABs, and a judgement a line"
    lines, problems = numbered_lines(data, file=file, what_to_do=what_to_do)
    found = list(problems)
    is_beir = any(_cells(text, is_beir=True) == BEIR_HEADER for _, text in islice(lines, 1))
    form = " in TABs" if is_beir else f": a line of TREC, or {' '.join(BEIR_HEADER)} in TABs as the first line"
    judgements: list[RelevanceJudgement] = []
    line_of: dict[tuple[str, str], int] = {}
    for line, text in islice(lines, is_beir, None):
        judgement = _judgement(_cells(text, is_beir=is_beir), is_beir=is_beir)
        if isinstance(judgement, str):
            found.append(FileProblem(file, line, judgement, f"write a query, a document and a whole number{form}"))
        elif (first := line_of.setdefault((judgement.query_id, judgement.document), line)) != line:
            again = f"repeats the query and the document of line {first}"
            found.append(FileProblem(file, line, again, "keep one of them"))
        else:
            judgements.append(judgement)
    return Parsed(tuple(judgements), tuple(found))


def _cells(line: str, *, is_beir: bool) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in (line.split("\t") if is_beir else line.split()))


def _judgement(cells: tuple[str, ...], *, is_beir: bool) -> RelevanceJudgement | str:
    """The judgement of a line, or a description of the problem."""
    expected = 3 if is_beir else 4
    if len(cells) != expected:
        return f"has {len(cells)} columns instead of {expected}"
    query_id, document, relevance = cells if is_beir else (cells[0], *cells[2:])
    if not query_id or not document:
        return "has a blank id"
    if not can_be_stored(query_id + document):
        return "contains a NUL character, which Postgres cannot store"
    if _WHOLE.fullmatch(relevance) is None:
        return "has a relevance that is not a whole number"
    return RelevanceJudgement(query_id=query_id, document=document, relevance=int(relevance))


def read_query_set(queries: bytes, qrels: bytes | None = None, *, queries_file: str, qrels_file: str = "") -> QuerySet:
    """Read both files. Raises ProblemsFound with the problems of both: judgements in both are one too, and judgements
    of other queries alone. Judgements of other queries beside those of these are counted and dropped."""
    found, query_problems = parse_queries(queries, file=queries_file)
    judgements, qrels_problems = Parsed(()) if qrels is None else parse_qrels(qrels, file=qrels_file)
    problems = [*query_problems, *qrels_problems]
    ids = {query.external_id for query in found.queries}
    judged = tuple(judgement for judgement in judgements if judgement.query_id in ids)
    if judgements and found.judgements:
        again = f"judges queries, which {queries_file} does too"
        problems.append(FileProblem(qrels_file, None, again, "keep one of them"))
    if judgements and not judged and not problems:
        strange = f"judges none of the {len(ids)} queries of {queries_file}"
        problems.append(FileProblem(qrels_file, None, strange, "give the judgements of these queries"))
    if problems:
        raise ProblemsFound(problems, of="query set", consequence="nothing was submitted")
    counts = {"judgements": found.judgements or judged, "left_out_judgements": len(judgements) - len(judged)}
    return found.model_copy(update=counts)


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


def single_query(text: str) -> QuerySet:
    """A set of one query. Raises QueryValueError for a text that cannot be asked."""
    return QuerySet(queries=(SubmittedQuery(external_id=SINGLE, text=query_text(text)),))


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
