"""Parser of relevance judgements (qrels): tab-separated files of BEIR, or files of TREC."""

import re
from itertools import islice
from typing import Final

from schemas.values.interviews import FileProblem
from schemas.values.query_sets import RelevanceJudgement
from stages.files.numbered_lines import numbered_lines
from stages.files.problems import Parsed
from stages.texts.storable import can_be_stored

BEIR_HEADER: Final = ("query-id", "corpus-id", "score")

_RELEVANCE: Final = re.compile(r"[+-]?[0-9]{1,4}")


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
    judgements: list[RelevanceJudgement] = []
    line_of: dict[tuple[str, str], int] = {}
    for line, text in islice(lines, is_beir, None):
        judgement = _judgement(_cells(text, is_beir=is_beir), is_beir=is_beir)
        if isinstance(judgement, str):
            what_to_do = "write a query, a document and a whole number" + (
                " in TABs" if is_beir else f": a line of TREC, or {' '.join(BEIR_HEADER)} in TABs as the first line"
            )
            found.append(FileProblem(file=file, line=line, found=judgement, what_to_do=what_to_do))
            continue
        first = line_of.setdefault((judgement.query_id, judgement.document), line)
        if first != line:
            again = f"repeats the query and the document of line {first}"
            found.append(FileProblem(file=file, line=line, found=again, what_to_do="keep one of them"))
            continue
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
    if _RELEVANCE.fullmatch(relevance) is None:
        return "has a relevance that is not a whole number"
    return RelevanceJudgement(query_id=query_id, document=document, relevance=int(relevance))
