"""What participants, questions and phrases the options of a submission ask for."""

import json
from pathlib import Path
from typing import Any, Final

import click

from cli.files import Rows, read_file
from cli.options import Choice, request_options, requested
from cli.output import print_text
from schemas.errors import QueryValueError, Refused
from schemas.values.base import can_be_stored
from schemas.values.participants import AssessmentMode
from schemas.values.requests import ParticipantRequest, QueryPolicy, QueryRequest, SubmittedQuery, TagsRequest
from services.tags import phrase_sets
from stages.corpora.works import work_filter
from stages.queries.query_files import read_query_set, single_query


def participants_request(
    *, few_shot_only: bool, zero_shot_only: bool, evidence: Path | None, **fields: Any
) -> ParticipantRequest:
    """Assessments of participants. Raises UsageError for options that exclude each other."""
    if few_shot_only and zero_shot_only:
        raise click.UsageError("--few-shot-only and --zero-shot-only exclude each other; leave both out for both.")
    left_out = {AssessmentMode.ZERO_SHOT: few_shot_only, AssessmentMode.FEW_SHOT: zero_shot_only}
    modes = tuple(mode for mode, is_left_out in left_out.items() if not is_left_out)
    quotes = None if evidence is None else read_evidence(evidence)
    return requested(ParticipantRequest, modes=modes, evidence=quotes, **fields)


def read_evidence(path: Path) -> dict[str, Any]:
    """The object in an evidence file. Raises Refused, naming the place, when it is not a JSON object."""
    try:
        evidence = json.loads(read_file(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        place = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(f"{path}{place}: not JSON in UTF-8; write an object of participants.") from None
    if not isinstance(evidence, dict):
        raise Refused(f"{path}: found {type(evidence).__name__}; write an object: participant id -> item -> quotes.")
    return evidence


FULL: Final = "full"
LIGHT: Final = "light"

model_option = click.option(
    "--model",
    type=Choice([FULL, LIGHT]),
    default=FULL,
    show_default=True,
    help="Expand and answer with RAGQ_QUERY_MODEL, or with RAGQ_QUERY_LIGHT_MODEL where it is set.",
)


#: What a question searches, and how.
search_options = (
    click.option(
        "--corpus",
        metavar="CORPUS",
        multiple=True,
        help="The corpus to ask; `default`, or the only one, unless named. Repeated, all are searched as one.",
    ),
    click.option(
        "--where",
        metavar="CONDITION",
        multiple=True,
        help="Search only works of author=TEXT, title=TEXT, tag=TAG, year=2001 or year>=2001; repeatable.",
    ),
    request_options(QueryPolicy, without=("corpus", "corpora", "works", "expand", "use_full_model", "until")),
)


def queries_request(
    *,
    query: str | None,
    queries: Rows | None = None,
    corpus: tuple[str, ...],
    where: tuple[str, ...],
    qrels: Path | None = None,
    no_expand: bool = False,
    expansion: Path | None = None,
    model: str = FULL,
    **fields: Any,
) -> QueryRequest:
    """Questions to a corpus. Raises UsageError for options that exclude each other."""
    if query is None and expansion:
        raise click.UsageError("--expansion goes with --query: a pasted reply belongs to one question.")
    if no_expand and expansion:
        raise click.UsageError("--no-expand and --expansion exclude each other.")
    if qrels is not None and queries is None:
        raise click.UsageError("--qrels goes with --queries: judgements name queries by their ids.")
    return QueryRequest(
        queries=_asked(query, queries, qrels),
        corpora=corpus,
        works=work_filter(where),
        expand=not no_expand,
        expansion_reply=None if expansion is None else read_text(expansion),
        use_full_model=model != LIGHT,
        **fields,
    )


def read_text(path: Path) -> str:
    """The text of a file. Raises Refused for an empty one and for bytes that are not UTF-8."""
    try:
        text = read_file(path).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path}: not UTF-8; save it as UTF-8 text.") from None
    if not text.strip():
        raise Refused(f"{path}: empty; write the whole text into it.")
    return text


def _asked(query: str | None, queries: Rows | None, qrels: Path | None) -> tuple[SubmittedQuery, ...]:
    if queries is None:
        try:
            return single_query(query or "")
        except QueryValueError as error:
            raise click.UsageError(f"The question {error.problem}.") from None
    file, content = queries
    judgements = None if qrels is None else read_file(qrels)
    found, notices = read_query_set(content, judgements, queries_file=file, qrels_file=str(qrels))
    for notice in notices:
        print_text(notice, err=True)
    return found


def tags_request(*, phrases: Rows, vocabulary: str | None, context_tags: str | None, **fields: Any) -> TagsRequest:
    """Phrase sets to find tags for. Raises UsageError without a vocabulary, and ProblemsFound for the file."""
    if vocabulary is None:
        raise click.UsageError("--phrases goes with --vocabulary NAME: whose tags to find.")
    if context_tags is not None and not can_be_stored(context_tags):
        raise Refused("--context-tags has characters that Postgres cannot store; remove them.")
    file, content = phrases
    sets = phrase_sets(content, file=file, of="file of phrases", context_tags=context_tags or "")
    return requested(TagsRequest, phrase_sets=sets, vocabulary=vocabulary, **fields)
