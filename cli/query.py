"""`ragq query`: the queries of query runs."""

from dataclasses import asdict
from typing import Any

import click

from cli.drawing import plain_table
from cli.lazy_group import LazyGroup
from cli.output import coloured, draw, json_option, print_json
from cli.session import with_database
from schemas.statuses import JobStatus, QueryStatus
from store.questions import query_lines
from store.questions.query_lines import QueryLine

_COMMANDS = {name: f"cli.one_query:{name}_command" for name in ("show", "prompt", "edit", "run", "answer", "delete")}


@click.group(cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def query() -> None:
    """Show questions, edit them and what a model made of them, and run their stages.

    \b
    Example:
        ragq query list
        ragq query edit 7 --intent MECHANISM
    """


@query.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The newest N.")
@json_option
def list_command(limit: int, as_json: bool) -> None:
    """List the newest questions, and what each needs next.

    The output contains sensitive text: what was asked.

    \b
    Example:
        ragq query list --limit 5
    """
    lines = with_database(lambda connection: query_lines.lines(connection, limit=limit))
    if as_json:
        print_json([line_json(line) for line in lines])
        return
    table = plain_table("query", "run", "asked", "corpus", "preset", "job", "needs", "answers", "question")
    for line in lines:
        table.add_row(
            str(line.id),
            f"r{line.run_id}",
            f"{line.created_at:%Y-%m-%d %H:%M}",
            ", ".join(line.corpora),
            line.preset or "",
            coloured(line.job_status),
            _needs(line),
            str(line.results),
            line.original_query,
        )
    draw(table)


def line_json(line: QueryLine) -> dict[str, Any]:
    """A question in one line, as JSON shows it."""
    return asdict(line) | {"corpora": line.corpora, "works": line.works}


def _needs(line: QueryLine) -> str:
    """What a question needs next; of one that has all of its context, only an answer that failed is named."""
    if line.status is not QueryStatus.READY:
        return line.status
    return "answer" if line.job_status in (JobStatus.FAILED, JobStatus.POISONED) else ""
