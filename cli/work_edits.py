"""`ragq work repair`, `select`, `convert` and `cut`: headings and sections decided again, and documents made again."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from cli.assignments import Assignment
from cli.document_target import document_argument
from cli.ids import JOB
from cli.output import json_option, print_result
from cli.session import with_database, with_open_database
from cli.submit_queries import read_reply
from cli.user_files import read_stdin
from schemas.errors import Refused
from schemas.values.documents import RepairAction, SelectionAction
from services import document_edits
from services.document_edits import Again, Edited
from services.document_jobs import DocumentTarget
from store.database import Connection, Database

Given = TypeVar("Given")

_JOB = click.argument("job_id", metavar="JOB", type=JOB)
_REPLY = click.option(
    "--reply", metavar="FILE", type=click.Path(path_type=Path), help="The reply of an external model; - reads stdin."
)
_VALUES = click.option(
    "--set",
    "assignments",
    type=Assignment("RAGQ_DOCUMENT_CHUNK_TOKENS=128"),
    multiple=True,
    help="Another value of a setting; it makes a run of its own. May be repeated.",
)
_STDIN = Path("-")


@click.command("repair")
@_JOB
@_REPLY
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="LINE=ACTION[:TEXT]",
    help=f"What becomes of the heading at a line: {', '.join(RepairAction)}, with other words if they are given. "
    "May be repeated.",
)
@json_option
def repair_command(job_id: int, reply: Path | None, changes: tuple[str, ...], as_json: bool) -> None:
    """Decide what becomes of the headings of a document: all of them by a reply, or single ones.

    A reply has a line for each heading, `NUMBER : ACTION : TEXT`. The stages after it run again; what they stored stays
    in the history of the job.

    \b
    Example:
        ragq work repair j345 --reply reply.txt
        ragq work repair j345 --set 12=H2 --set "40=H3:Green leaves" --set 51=REMOVE
    """
    edit = _edit(
        reply,
        {line: _understood(text, document_edits.repair_change(text), RepairAction) for line, text in _lines(changes)},
        document_edits.paste_repair,
        document_edits.change_repairs,
    )
    _report(with_database(lambda connection: edit(connection, job_id)), "headings changed", as_json=as_json)


@click.command("select")
@_JOB
@_REPLY
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="LINE=DECISION",
    help=f"Whether the section of the heading at a line is embedded: {' or '.join(SelectionAction)}. May be repeated.",
)
@json_option
def select_command(job_id: int, reply: Path | None, changes: tuple[str, ...], as_json: bool) -> None:
    """Decide which sections of a document are embedded: all of them by a reply, or single ones.

    A reply has lines `NUMBER : SKIP` or `NUMBER : VECTORIZE`. What is inside a skipped section is skipped unless it has
    a line of its own, and what is around an embedded one is embedded.

    \b
    Example:
        ragq work select j345 --reply reply.txt
        ragq work select j345 --set 12=SKIP
    """
    edit = _edit(
        reply,
        {
            line: _understood(text, document_edits.selection_change(text), SelectionAction)
            for line, text in _lines(changes)
        },
        document_edits.paste_selection,
        document_edits.change_selection,
    )
    _report(with_database(lambda connection: edit(connection, job_id)), "headings skipped", as_json=as_json)


@click.command("convert")
@document_argument
@_VALUES
@json_option
def convert_command(target: DocumentTarget, assignments: tuple[tuple[str, str], ...], as_json: bool) -> None:
    """Convert a document again from its stored file, and make the work of it again.

    Without --set in the same job, by the converters that the workers have now. With other values in a run of its own;
    its work takes the place of this one.

    \b
    Example:
        ragq work convert 7
        ragq work convert j345 --set RAGQ_REPAIR_BY=model
    """
    _again(lambda database: document_edits.convert_again(database, target, dict(assignments)), as_json=as_json)


@click.command("cut")
@document_argument
@_VALUES
@json_option
def cut_command(target: DocumentTarget, assignments: tuple[tuple[str, str], ...], as_json: bool) -> None:
    """Cut a document into chunks again, and embed them.

    \b
    Example:
        ragq work cut 7
        ragq work cut 7 --set RAGQ_DOCUMENT_CHUNK_TOKENS=128
    """
    _again(lambda database: document_edits.cut_again(database, target, dict(assignments)), as_json=as_json)


def _edit(
    reply: Path | None,
    changes: dict[int, Given],
    paste: Callable[[Connection, int, str], Awaitable[Edited]],
    change: Callable[[Connection, int, dict[int, Given]], Awaitable[Edited]],
) -> Callable[[Connection, int], Awaitable[Edited]]:
    if (reply is None) == (not changes):
        raise click.UsageError("Give --reply FILE for all headings, or --set LINE=ACTION for single ones.")
    if reply is None:
        return lambda connection, job_id: change(connection, job_id, changes)
    text = _text_of(reply)
    return lambda connection, job_id: paste(connection, job_id, text)


def _text_of(reply: Path) -> str:
    if reply != _STDIN:
        return read_reply(reply)
    try:
        return read_stdin().decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("The reply on stdin is not UTF-8; send it as UTF-8 text.") from None


def _lines(changes: Sequence[str]) -> list[tuple[int, str]]:
    found = []
    for change in changes:
        line, _, text = change.partition("=")
        if not line.isascii() or not line.isdecimal() or len(line) > 9:
            raise click.UsageError(f"--set '{change}' has no line; write it like 12=WORD.")
        found.append((int(line), text))
    return found


def _understood(
    text: str, change: Given | None, words: Sequence[str] | type[RepairAction] | type[SelectionAction]
) -> Given:
    if change is None:
        raise click.UsageError(f"'{text.partition(':')[0]}' is none of {', '.join(words)}.")
    return change


def _report(edited: Edited, words: str, *, as_json: bool) -> None:
    shown = {"job": f"j{edited.job_id}", "stage": edited.stage, "changed": edited.changed}
    text = f"j{edited.job_id} continues after stage '{edited.stage}': {edited.changed} {words}."
    print_result(shown, text, as_json=as_json)


def _again(make: Callable[[Database], Awaitable[Again]], *, as_json: bool) -> None:
    again = with_open_database(make)
    run = None if again.forked is None else f"r{again.forked.submitted.run_id}"
    text = f"j{again.job_id} continues with stage '{again.stage}'." if run is None else run
    print_result({"job": f"j{again.job_id}", "from": again.stage, "run": run}, text, as_json=as_json)
