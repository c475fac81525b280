"""`ragq query`: the questions of query runs, looked at, changed, and asked again."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from cli.output import coloured, console, print_json
from cli.session import application, with_database
from cli.submit_queries import read_reply
from schemas.errors import Refused
from schemas.statuses import QueryStatus
from schemas.values.queries import Intent
from services.questions import edits as query_edits
from services.questions.edits import ExpansionEdit, found
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts, jobs, pending_chains
from workers.messages import send

Given = TypeVar("Given")

#: Stages whose outputs `ragq query show` prints.
SHOWN = ("expand", "retrieve", "rerank", "validate", "consolidate", "augment", "generate")

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_QUERY = click.argument("query_id", metavar="QUERY", type=click.IntRange(min=1))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def query() -> None:
    """Look at questions, change what a model made of them, and let them go on.

    \b
    Example:
        ragq query list
        ragq query edit 7 --intent MECHANISM
    """


@query.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The newest N.")
@_JSON
def list_command(limit: int, as_json: bool) -> None:
    """List the newest questions, and what each needs next.

    This prints what was asked: mind who looks over your shoulder.

    \b
    Example:
        ragq query list --limit 5
    """
    lines = with_database(lambda connection: queries.lines(connection, limit=limit))
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    table = Table(box=None)
    for heading in ("query", "run", "job", "state", "needs", "intent", "answers", "question"):
        table.add_column(heading)
    for line in lines:
        state = coloured(line.job_status)
        needs = "" if line.status is QueryStatus.READY else line.status
        numbers = (str(line.id), f"r{line.run_id}", f"j{line.job_id}")
        table.add_row(*numbers, state, needs, line.intent or "", str(line.results), line.original_query)
    console().print(table)


@query.command("show")
@_QUERY
@_JSON
def show_command(query_id: int, as_json: bool) -> None:
    """Show a question with everything that is stored for it: expansion, passages, prompt and answers.

    This prints text of the corpus and of models: mind who looks over your shoulder.

    \b
    Example:
        ragq query show 7
        ragq query show 7 --json
    """

    async def read(connection: Connection) -> dict[str, Any]:
        asked = await found(connection, query_id)
        (line,) = await queries.lines(connection, query_id=query_id)
        stored = {stage: await attempts.output(connection, asked.job_id, stage) for stage in SHOWN}
        return asdict(line) | {
            "stages": {stage: None if output is None else output.value for stage, output in stored.items()},
            "answers": [asdict(result) for result in await queries.results(connection, query_id)],
        }

    shown = with_database(read)
    if as_json:
        print_json(shown)
    else:
        _print_query(shown)


@query.command("prompt")
@_QUERY
def prompt_command(query_id: int) -> None:
    """Print the prompt with its sources, to be pasted into a model of your own.

    \b
    Example:
        ragq query prompt 7 > prompt.txt
        ragq query answer 7 reply.txt
    """

    async def read(connection: Connection) -> str:
        asked = await found(connection, query_id)
        output = await attempts.output(connection, asked.job_id, "augment")
        if output is None:
            raise Refused(f"Query {query_id} has no prompt yet; `ragq query show {query_id}` says how far it is.")
        prompt: str = output.value["prompt"]
        return prompt

    click.echo(with_database(read))


@query.command("edit")
@_QUERY
@click.option("--text", help="Ask this instead; everything is done again.")
@click.option("--intent", type=click.Choice(list(Intent), case_sensitive=False), help="What the question is after.")
@click.option("--mqe", "phrases", multiple=True, metavar="TEXT", help="Search phrase; repeated, they replace all.")
@click.option("--hyde", metavar="TEXT", help="The made-up answer that is searched for.")
@click.option("--entity", "entities", multiple=True, metavar="TEXT", help="Entity; repeated, they replace all.")
@click.option("--expansion", type=_FILE, help="An expansion reply of a model of your own.")
@click.option("--passages", metavar="N,N...", help="Passages of the context to keep, by place, in this order.")
@click.option("--no-run", is_flag=True, help="Leave the job paused; `ragq resume` lets it go on.")
def edit_command(
    query_id: int,
    text: str | None,
    intent: str | None,
    phrases: tuple[str, ...],
    hyde: str | None,
    entities: tuple[str, ...],
    expansion: Path | None,
    passages: str | None,
    no_run: bool,
) -> None:
    """Change a question, its expansion or its context. What was computed from the old state is done again.

    The old outputs stay in `ragq inspect`. A change of the passages is kept until something before it changes.

    \b
    Example:
        ragq query edit 7 --intent MECHANISM --entity tannin
        ragq query edit 7 --passages 2,1,3
    """
    edit = ExpansionEdit(
        intent=None if intent is None else Intent(intent.upper()),
        queries=phrases or None,
        hyde_answer=hyde,
        entities=entities or None,
    )
    changes: list[Callable[[Connection, StoredQuery], Awaitable[None]]] = []
    if text is not None:
        if not text.strip():
            raise click.UsageError("--text is empty; ask something.")
        changes.append(lambda c, q: query_edits.edit_text(c, q, text.strip(), pause=no_run))
    if edit != ExpansionEdit():
        changes.append(lambda c, q: query_edits.edit_expansion(c, q, edit, pause=no_run))
    if expansion is not None:
        reply = read_reply(expansion)
        changes.append(lambda c, q: query_edits.paste_expansion(c, q, reply, pause=no_run))
    if passages is not None:
        places = _places(passages)
        changes.append(lambda c, q: query_edits.reorder_context(c, q, places, pause=no_run))
    if len(changes) != 1:
        raise click.UsageError(
            "Change one thing at a time: --text; or parts of the expansion; or --expansion; or --passages."
        )
    _go_on(query_id, changes[0])


@query.command("run")
@_QUERY
@click.option("--from", "start", metavar="STAGE", help="Do this stage and those after it again.")
@click.option("--until", metavar="STAGE", help="Go on to this stage; without it to the end.")
@click.option("--light", is_flag=True, help="Let the run's RAGQ_QUERY_LIGHT_MODEL expand and answer.")
def run_command(query_id: int, start: str | None, until: str | None, light: bool) -> None:
    """Let a question that was stopped early go on, or do stages of it again.

    `--from generate` asks for another answer; the others stay.

    \b
    Example:
        ragq query run 7
        ragq query run 7 --from retrieve
        ragq query run 7 --from generate --light
    """
    _go_on(query_id, lambda c, q: query_edits.run_again(c, q, start=start, until=until, light=light))


@query.command("answer")
@_QUERY
@click.argument("file", type=_FILE)
def answer_command(query_id: int, file: Path) -> None:
    """Store the answer of a model of your own to the question's prompt, beside the answers there are.

    \b
    Example:
        ragq query answer 7 reply.txt
    """
    text = read_reply(file)

    async def paste(connection: Connection) -> int:
        return await query_edits.paste_answer(connection, await found(connection, query_id), text)

    click.echo(with_database(paste))


def _go_on(query_id: int, change: Callable[[Connection, StoredQuery], Awaitable[None]]) -> None:
    app = application()

    async def carry_out(connection: Connection) -> str:
        asked = await found(connection, query_id)
        await change(connection, asked)
        job = await jobs.job(connection, asked.job_id)
        assert job is not None
        if job["status"] != "paused":
            send(app, await pending_chains.pending_chains(connection, [asked.job_id]))
        return f"j{asked.job_id} {job['status']}"

    click.echo(with_database(carry_out))


def _places(text: str) -> list[int]:
    try:
        return [int(place) for place in text.split(",")]
    except ValueError:
        raise click.UsageError(f"'{text}' is not a list of places; write it like 2,1,3.") from None


def _print_query(shown: dict[str, Any]) -> None:
    out = console()
    out.print(f"query {shown['id']}  r{shown['run_id']}  j{shown['job_id']}  {shown['job_status']}", style="bold")
    out.print(shown["original_query"], markup=False, highlight=False)
    stages = shown["stages"]
    if expansion := stages["expand"]:
        out.print(f"\nexpansion ({expansion['origin']})  intent {expansion['intent'] or 'none'}", style="bold")
        for phrase in expansion["queries"]:
            out.print(f"  {phrase}", markup=False, highlight=False)
        if expansion["entities"]:
            out.print(f"  entities: {', '.join(expansion['entities'])}", markup=False, highlight=False)
    if reranked := stages["rerank"]:
        out.print(f"\n{len(reranked['chunks'])} chunks chosen by {reranked['ranker']}", style="bold")
    if context := stages["consolidate"]:
        out.print(f"\n{len(context['groups'])} passages", style="bold")
        for place, group in enumerate(context["groups"], start=1):
            heading = " > ".join(group["heading_chain"])
            lines = f"work {group['work_id']}, lines {group['start_line']} to {group['end_line']}"
            out.print(f"  {place}. {group['score']:.3f}  {lines}  {heading}", markup=False, highlight=False)
    for answer in shown["answers"]:
        strange = answer["unknown_citations"]
        note = f"  cites {', '.join(strange)}, which the prompt does not have" if strange else ""
        out.print(f"\nanswer {answer['id']} ({answer['model'] or answer['origin']}){note}", style="bold")
        out.print(answer["response_text"], markup=False, highlight=False)
    if shown["status"] == QueryStatus.VEC_ERR:
        run = f"r{shown['run_id']}"
        remedy = f"`ragq show {run}` says why, `ragq retry {run}` tries again"
        out.print(f"\n{QueryStatus.VEC_ERR}: the embedding failed; {remedy}", style="red")
    elif shown["status"] != QueryStatus.READY:
        out.print(f"\nnext: {shown['status']}", style="dim")
