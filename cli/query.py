"""`ragq query`: the queries of query runs."""

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

import click

from cli.config import with_database
from cli.options import group, numbers, requested, values_option, wanted_options
from cli.output import (
    FittingTable,
    Text,
    coloured,
    confirm,
    draw,
    json_option,
    print_json,
    print_list,
    print_result,
    print_text,
)
from cli.submissions import LIGHT, model_option
from schemas.chains import stages_of
from schemas.statuses import JobStatus, QueryStatus
from schemas.values.queries import Intent, Passage, RerankedChunk
from schemas.values.requests import QueryEdit, QuestionsWanted
from services.questions.edits import edit
from services.questions.steps import run_stages
from stages.corpora.cut import headings_in_words, lines_in_words
from stages.reports.tables import Moment
from stages.reports.words import counted
from store.database import Connection
from store.questions import queries, query_runs
from store.questions.queries import StoredQuery, StoredResult
from store.questions.query_runs import QueryView, query_view
from store.runs import attempts

#: Of a passage that does not answer a question.
NEAREST_CHARACTERS = 300


async def only_question(connection: Connection, run_id: int) -> QueryView | None:
    """The question of a run; None for a run of several, or of none."""
    found = await queries.of_run(connection, run_id)
    return await query_view(connection, found[0]) if len(found) == 1 else None


def query_json(shown: QueryView) -> dict[str, Any]:
    """A question with its answers, the newest first, and its last error, as JSON shows it."""
    parts = {*StoredQuery.model_fields, "error", "nearest"}
    return shown.model_dump(include=parts, by_alias=True) | {"answers": shown.answers}


def print_outcome(shown: QueryView) -> None:
    """Print the newest answer, and the error of a question that failed."""
    for result in shown.answers[:1]:
        print_answer(result)
    print_failure(shown)


def print_answer(result: StoredResult) -> None:
    """Print an answer, the sources that it cites, the others, and what was lost or replaced on the way to it."""
    unknown = result.unknown_citations
    note = f"  cites {', '.join(unknown)}, which the prompt does not have" if unknown else ""
    cut = ", cut off" if result.is_cut else ""
    draw(Text(f"\nanswer {result.id} ({result.model or result.origin}{cut}){note}", "bold"))
    draw(result.response_text)
    cited = result.cited
    is_of_several = len(result.basis.corpora) > 1
    for is_cited, heading in ((True, "cited"), (False, "also read" if cited else "read")):
        sources = [source for source in result.sources if (source.label in cited) is is_cited]
        if sources:
            draw(Text(f"{heading}:"))
        for source in sources:
            of = f", of corpus {source.corpus}" if is_of_several else ""
            place = place_words(source.title, source.heading_chain, source)
            draw(Text(f"  [{source.label}] {place}{of}", "dim"))
    for words in result.notes:
        draw(Text(f"  note: {words}", "yellow"))


def place_words(title: str, headings: Sequence[str], of: Passage | RerankedChunk) -> str:
    """The work, the headings, the pages and the lines of a passage or a chunk."""
    pages = [lines_in_words(*of.pages, "page")] if of.pages else []
    return ", ".join([headings_in_words(title, headings), *pages, lines_in_words(of.start_line, of.end_line)])


def print_failure(shown: QueryView) -> None:
    """Print the last error of a question on stderr, and how it runs with other values; and the nearest passages to a
    question that the corpus does not answer."""
    if (error := shown.error) is None:
        return
    print_text(f"Stage '{error.stage}' failed: {error.message}", err=True)
    run = f"ragq query run {shown.id}"
    if run not in error.message and "`ragq fork" not in error.message:
        print_text(f"`{run}` tries it again, `{run} --preset NAME` and `--set NAME=VALUE` with other values.", err=True)
    if shown.nearest:
        draw(Text("\nNo passage of this corpus answers this. The nearest are:", "bold"))
    for chunk in shown.nearest:
        headings = [chunk.heading_breadcrumbs] if chunk.heading_breadcrumbs else []
        draw(Text(f"  {place_words(f'work {chunk.work_id}', headings, chunk)}", "dim"))
        draw(f"  {shorten(chunk.content, NEAREST_CHARACTERS, placeholder=' …')}")


_PLACES = numbers("N,N...", "places", "2,1,3")
_QUERY = click.argument("query_id", metavar="QUERY", type=click.IntRange(min=1))


@group()
def query() -> None:
    """Show questions, edit them and what a model made of them, and run their stages.

    \b
    Example:
        ragq query list
        ragq query edit 7 --intent MECHANISM
    """


@query.command("list")
@wanted_options(QuestionsWanted, limit=20)
@json_option
def list_command(wanted: QuestionsWanted, as_json: bool) -> None:
    """List the newest questions, and what each needs next.

    The output contains sensitive text: what was asked.

    \b
    Example:
        ragq query list --status ready --limit 5
    """
    listed = with_database(queries.listed, wanted)
    table = FittingTable("query", "run", "asked", "corpus", "preset", "job", "needs", "answers", "question")
    for line in listed.items:
        of_run = f"r{line.run_id}", Moment(line.created_at), ", ".join(line.corpora), line.preset
        state = coloured(line.job_status), "" if line.status is QueryStatus.READY else line.status
        table.add_row(line.id, *of_run, *state, line.results_count, line.original_query)
    none = "No question is stored yet. `ragq ask QUESTION` asks one."
    if wanted.status or wanted.before:
        none = "There is no such question. `ragq query list` lists the newest."
    print_list(listed, table, none=none, as_json=as_json)


@query.command("show")
@_QUERY
@json_option
def show_command(query_id: int, as_json: bool) -> None:
    """Show a question with what is stored for it: expansion, passages and answers, with --json the prompt too.

    The output contains sensitive text, of the corpus and of models.

    \b
    Example:
        ragq query show 7
        ragq query show 7 --json
    """
    shown = with_database(query_view, query_id)
    if as_json:
        # Those that people read; vectors are none.
        stages = [stage for stage in stages_of("query", "answer") if stage != "embed"]
        stored = with_database(attempts.outputs, shown.job_id, stages)
        outputs = {stage: stored[stage].value if stage in stored else None for stage in stages}
        print_json(query_json(shown) | {"stages": outputs})
    else:
        _print_query(shown)


@query.command("edit")
@_QUERY
@click.option("--text", "original_query", help="Ask this instead; the expansion stays.")
@click.option("--intent", metavar="INTENT", help=f"What the question asks for: {', '.join(Intent)}, or another text.")
@click.option(
    "--mqe", "expanded_queries", multiple=True, metavar="TEXT", help="Search phrase; repeated, they replace all."
)
@click.option("--hyde", "hyde_answer", metavar="TEXT", help="The hypothetical answer (HyDE) that is searched for.")
@click.option("--entity", "entities", multiple=True, metavar="TEXT", help="Entity; repeated, they replace all.")
@click.option("--passages", "context", type=_PLACES, help="Passages of the context to keep, by place, in this order.")
@click.option(
    "--run/--no-run",
    default=True,
    show_default=True,
    help="Run the stages that the change made stale; otherwise the chain ends with what was changed.",
)
@json_option
def edit_command(query_id: int, context: tuple[int, ...] | None, run: bool, as_json: bool, **parts: Any) -> None:
    """Change a question, its expansion or its context: everything that is given, or nothing.

    What was computed from the old values runs again, up to the stage that the chain ended with. With --no-run nothing
    runs, and `ragq query run` continues. The old outputs stay in `ragq inspect`. A change of the passages is kept until
    something before it changes, and cannot be combined with another.

    \b
    Example:
        ragq query edit 7 --intent MECHANISM --entity tannin
        ragq query edit 7 --passages 2,1,3
        ragq query edit 7 --text "Why does green tea turn brown?" --no-run
    """
    changes = requested(QueryEdit, **{name: value for name, value in parts.items() if value != ()})
    if not changes.model_fields_set and context is None:
        raise click.UsageError("Name what to change: --text, parts of the expansion, or --passages.")

    with_database(edit, query_id, changes, context=context, run=run)
    _print_changed(query_id, as_json=as_json)


@query.command("run")
@_QUERY
@click.option("--from", "first", metavar="STAGE", help="Run this stage and those after it again.")
@click.option("--until", "last", metavar="STAGE", help="End the chain with this stage; without it with the answer.")
@click.option("--preset", metavar="PRESET", help="Continue with the values of this preset.")
@values_option("Continue with this value of the preset; repeatable.", "retrieval.dense_limit=25")
@model_option
@json_option
def run_command(query_id: int, values: dict[str, str], model: str, as_json: bool, **chosen: str | None) -> None:
    """Run the stages of a question that are not done, or stages of it again.

    `--from generate` asks for another answer; the others stay. With another preset or other values the question moves
    to a run of its own with them: stages whose values are the same are carried over, the others run again.

    \b
    Example:
        ragq query run 7
        ragq query run 7 --from retrieve
        ragq query run 7 --from generate --model light
        ragq query run 7 --preset Original --set retrieval.min_word_count=0
    """
    options: dict[str, Any] = {"values": values, "use_light_model": model == LIGHT, **chosen}
    with_database(run_stages, query_id, **options)
    _print_changed(query_id, as_json=as_json)


@query.command("delete")
@_QUERY
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(query_id: int, yes: bool, as_json: bool) -> None:
    """Delete a question: its answers, its job with everything that was computed, and every text of them.

    A run without other questions is deleted with it. Refused while a stage of the question is running. This cannot be
    undone.

    \b
    Example:
        ragq query delete 7
        ragq query delete 7 --yes
    """
    line = with_database(queries.get, query_id)
    answers = counted(line.results_count, "answer")
    confirm(f"Delete question {query_id} of r{line.run_id} with {answers}?", yes=yes)
    with_database(query_runs.delete_query, query_id)
    words = f"Deleted question {query_id} and {answers}."
    print_result({"deleted": query_id, "answers": line.results_count}, words, as_json=as_json)


def _print_changed(query_id: int, *, as_json: bool) -> None:
    line = with_database(queries.get, query_id)
    of_job = {"run": f"r{line.run_id}", "job": f"j{line.job_id}", "job_status": line.job_status}
    shown = {"query": query_id, **of_job, "status": line.status}
    print_result(shown, f"j{line.job_id} {line.job_status}", as_json=as_json)
    if line.job_status == JobStatus.SUCCEEDED and line.status != QueryStatus.READY:
        print_text(f"Query {query_id} {line.status}; `ragq query run {query_id}` continues.", err=True)


def _print_query(shown: QueryView) -> None:
    draw(Text(f"query {shown.id}  r{shown.run_id}  j{shown.job_id}  {shown.job_status}", "bold"))
    draw(shown.original_query)
    works = f", works of {shown.works}" if shown.works.given else ""
    draw(Text(f"corpus {', '.join(shown.corpora)}{works}", "dim"))
    if expansion := shown.expansion:
        draw(Text(f"\nexpansion ({expansion.origin})  intent {expansion.intent or 'none'}", "bold"))
        for phrase in expansion.queries:
            draw(f"  {phrase}")
        if expansion.entities:
            draw(f"  entities: {', '.join(expansion.entities)}")
    if context := shown.consolidated:
        draw(Text(f"\n{len(context.groups)} passages", "bold"))
        for place, group in enumerate(context.groups, start=1):
            where = place_words(f"work {group.work_id}", group.heading_chain, group)
            draw(f"  {place}. {group.score:.3f}  {where}")
    for result in shown.answers:
        print_answer(result)
    print_failure(shown)
    if shown.error is None and shown.status != QueryStatus.READY:
        draw(Text(f"\nnext: {shown.status}", "dim"))
