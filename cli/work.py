"""`ragq work`: works and the documents that they were made from, shown, repaired, and made again."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cli.completed_names import CORPUS
from cli.document_target import document_argument
from cli.drawing import plain_table
from cli.ids import JOB
from cli.output import draw, json_option, print_data, print_json, print_list, print_result
from cli.session import with_database
from cli.work_edits import convert_command, cut_command, repair_command, select_command
from schemas.errors import Refused
from schemas.values.documents import Cleaned
from services import document_edits
from services.corpora import corpus_of_name
from services.document_jobs import DocumentTarget
from services.work_views import (
    DocumentView,
    ListedDocument,
    OutlineHeading,
    document_markdown,
    document_view,
    listed_documents,
)
from stages.reports.numbers_in_words import counted
from store.database import Connection


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def work() -> None:
    """Show works with the headings of their documents, change what became of these, and make them again.

    A number is a work, j345 the job that made one. `ragq import works` imports.

    \b
    Example:
        ragq work list library
        ragq work outline 7
        ragq work repair j345 --set 12=H2
    """


for command in (repair_command, select_command, convert_command, cut_command):
    work.add_command(command)


@work.command("list")
@click.argument("corpus", type=CORPUS)
@click.option(
    "--search", metavar="TEXT", default="", help="Only those with this text in title, authors, year or source."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(corpus: str, search: str, as_json: bool) -> None:
    """List the works of a corpus, with the jobs that made them.

    \b
    Example:
        ragq work list library
        ragq work list library --search tea
    """
    found = with_database(lambda connection: _listed(connection, corpus, search))
    table = plain_table("work", "job", "title", "authors", "year", "chunks", "searchable", "source")
    for one in found:
        listed = one.work
        table.add_row(
            str(listed.id),
            "" if one.job_id is None else f"j{one.job_id}",
            listed.title,
            listed.authors or "",
            "" if listed.year is None else str(listed.year),
            str(listed.chunks),
            str(listed.searchable),
            listed.source_path or "",
        )
    none = f"There is no such work in corpus '{corpus}'."
    rows = [asdict(one.work) | {"job": _job(one.job_id)} for one in found]
    print_list(rows, table, none=none, as_json=as_json)


@work.command("show")
@document_argument
@json_option
def show_command(target: DocumentTarget, as_json: bool) -> None:
    """Show a work and its document: how it was converted, who decided about its headings, and how far its job is.

    \b
    Example:
        ragq work show 7
        ragq work show j345 --json
    """
    shown = with_database(lambda connection: document_view(connection, target))
    if as_json:
        print_json(_view_json(shown))
        return
    for name, words in _facts(shown):
        draw(f"{name:<13} {words}")


@work.command("outline")
@document_argument
@json_option
def outline_command(target: DocumentTarget, as_json: bool) -> None:
    """Show the headings of a document: what became of each, and what the document's own table of contents says.

    The number of a line is that of the converted document, as `ragq work repair` takes it; `at` is the line in the
    work, as `ragq work select` takes it. `!` marks a level that is not that of the table of contents.

    \b
    Example:
        ragq work outline 7
        ragq work outline j345 --json
    """
    shown = with_database(lambda connection: document_view(connection, target))
    if as_json:
        headings = [asdict(heading) | {"disagrees": heading.disagrees} for heading in shown.headings]
        print_json(_view_json(shown) | {"headings": headings, "missing": shown.missing})
        return
    table = plain_table("line", "page", "level", "repair", "contents", "at", "embedded", "heading")
    for heading in shown.headings:
        table.add_row(*_row(heading))
    draw(table)
    for entry in shown.missing:
        draw(f"only in the table of contents: {entry.title}")


@work.command("export")
@document_argument
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead.")
@json_option
def export_command(target: DocumentTarget, output: Path | None, as_json: bool) -> None:
    """Print the markdown of a work, or of a job: sanitised, or as it was converted if it is no further.

    \b
    Example:
        ragq work export 7 > tea.md
        ragq work export j345 --output converted.md
    """
    markdown = with_database(lambda connection: document_markdown(connection, target))
    if output is not None:
        try:
            output.write_text(markdown, "utf-8", newline="")
        except OSError as error:
            raise Refused(f"{output}: cannot be written ({error.strerror}); name another file.") from None
        print_result({"file": str(output)}, str(output), as_json=as_json)
    elif as_json:
        print_json({"markdown": markdown})
    else:
        print_data(markdown)


@work.command("prompt")
@click.argument("job_id", metavar="JOB", type=JOB)
@click.argument("step", type=click.Choice([document_edits.REPAIR, document_edits.SELECT]))
@json_option
def prompt_command(job_id: int, step: str, as_json: bool) -> None:
    """Print the prompt by which a model repairs the headings of a document or selects its sections.

    To be pasted into any model; `ragq work repair` and `ragq work select` take its reply.

    \b
    Example:
        ragq work prompt j345 repair > prompt.txt
        ragq work repair j345 --reply reply.txt
    """
    read = document_edits.repair_text if step == document_edits.REPAIR else document_edits.select_text
    prompt = with_database(lambda connection: read(connection, job_id))
    print_result({"job": f"j{job_id}", "step": step, "prompt": prompt}, prompt, as_json=as_json)


async def _listed(connection: Connection, corpus: str, search: str) -> list[ListedDocument]:
    return await listed_documents(connection, (await corpus_of_name(connection, corpus)).id, search=search)


def _job(job_id: int | None) -> str | None:
    return None if job_id is None else f"j{job_id}"


def _view_json(shown: DocumentView) -> dict[str, Any]:
    values = {
        name: value for name, value in vars(shown).items() if name not in ("job_id", "run_id", "headings", "missing")
    }
    return {
        "job": _job(shown.job_id),
        "run": None if shown.run_id is None else f"r{shown.run_id}",
        **values,
        "counts": {
            "headings": len(shown.headings),
            "changed": shown.changed,
            "skipped": shown.skipped,
            "disagreements": shown.disagreements,
        },
    }


def _facts(shown: DocumentView) -> list[tuple[str, str]]:
    conversion = " by ".join(filter(None, (shown.format, shown.converter)))
    found = f"{shown.variant}: {shown.reason}" if shown.reason else ""
    facts = [
        ("work", "" if shown.work_id is None else f"{shown.work_id}  {shown.title}"),
        ("corpus", shown.corpus or ""),
        ("file", shown.name or ""),
        ("job", "" if shown.job_id is None else f"j{shown.job_id} of r{shown.run_id}  {shown.status}"),
        ("stages", ", ".join(f"{stage} {status}" for stage, status in shown.stages.items())),
        ("converted", conversion),
        ("headings by", found),
        ("pages", "" if shown.pages is None else str(shown.pages)),
        ("cleaned", "" if shown.cleaned is None else _cleaned(shown.cleaned)),
        ("without text", "" if shown.cleaned is None else _without_text(shown.cleaned)),
        (
            "headings",
            f"{len(shown.headings)}, {counted(shown.disagreements, 'disagreement')} with the table of contents",
        ),
        ("repaired", "" if shown.repaired_by is None else f"{shown.changed} by {shown.repaired_by}"),
        ("skipped", "" if shown.selected_by is None else f"{shown.skipped} by {shown.selected_by}"),
        ("model", shown.model or ""),
    ]
    return [(name, words) for name, words in facts if words]


def _without_text(cleaned: Cleaned) -> str:
    pages = cleaned.pages_without_text
    return f"{counted(len(pages), 'page')}: {', '.join(map(str, pages))}" if pages else ""


def _cleaned(cleaned: Cleaned) -> str:
    counts = cleaned.model_dump(exclude={"pages_without_text"})
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())


def _row(heading: OutlineHeading) -> list[str]:
    repair = heading.action or ""
    text = (
        heading.text
        if heading.repaired_text in (None, heading.text)
        else f"{heading.repaired_text} (was {heading.text})"
    )
    embedded = "" if heading.embeds is None else "yes" if heading.embeds else f"no: {heading.reason}"
    contents = "" if heading.toc_level is None else f"{heading.toc_level}{'!' if heading.disagrees else ''}"
    indent = "  " * ((heading.repaired_level or heading.level) - 1)
    return [
        str(heading.line),
        "" if heading.page is None else str(heading.page),
        str(heading.level),
        repair,
        contents,
        "" if heading.work_line is None else str(heading.work_line),
        embedded,
        f"{indent}{text}",
    ]
