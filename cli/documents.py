"""`ragq corpus` and `ragq work`: corpora, their works, and the documents that these were made from."""

from collections.abc import Sequence
from typing import Any

import click

from cli.config import with_database
from cli.ids import DOCUMENT, WORK
from cli.options import group, wanted_options
from cli.output import (
    FittingTable,
    confirm,
    draw,
    json_option,
    print_data,
    print_following,
    print_json,
    print_list,
    print_result,
)
from cli.sheets import print_listing, rows_drawing
from schemas.full_text import language_words
from schemas.values.base import Listed
from schemas.values.documents import CorpusView, Heading
from schemas.values.requests import ChunksWanted, WorksWanted
from services.corpora import corpus_loss, delete_corpus, embedding_loss, remove_works
from services.documents import document_text, document_view
from services.listings import CORPORA, WORKS
from stages.reports.words import chunk_size_words, counted
from store.corpora import corpora, works
from store.corpora.corpora import corpus_of_name
from store.database import Connection


@group("corpus")
def corpus_group() -> None:
    """List, show, shrink and delete corpora: works that are searched together.

    \b
    Example:
        ragq import works books/ --corpus library --wait
        ragq corpus show library
    """


@corpus_group.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the corpora, with how many of their chunks can be searched, and the language of each.

    Where full text has no dictionary for the language, the configuration that it uses stands in parentheses.

    \b
    Example:
        ragq corpus list
    """
    print_listing(CORPORA, Listed.whole(with_database(corpora.views)), as_json=as_json)


@corpus_group.command("show")
@click.argument("name")
@wanted_options(WorksWanted, limit=100)
@json_option
def show_command(name: str, wanted: WorksWanted, as_json: bool) -> None:
    """Show a corpus and its works, with the jobs that made them of documents.

    A chunk whose job failed waits: `ragq retry RUN` tries it again, and so does the next `ragq import works`.

    \b
    Example:
        ragq corpus show library
        ragq corpus show library --search tea
    """
    corpus = with_database(_view, name)
    listed = with_database(works.listed, corpus.id, wanted)
    if as_json:
        print_json(dict(corpus) | {"works": listed})
        return
    headings = "with" if corpus.embeds_headings else "without"
    draw(
        f"{corpus.name}: {corpus.works} works, {corpus.searchable} chunks can be found, {corpus.waiting} wait for a "
        f"vector ({corpus.failed} of them failed), {corpus.tables} tables, {corpus.figures} figures",
        f"embedded by {corpus.model} ({corpus.backend}, {corpus.dimension} dimensions), {headings} headings",
        language_words(corpus.language),
        f"{chunk_size_words(corpus.chunk_tokens)}; {embedding_loss(corpus)}",
        rows_drawing(WORKS.table(listed.items)),
    )
    print_following(listed)


@corpus_group.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(name: str, yes: bool, as_json: bool) -> None:
    """Delete a corpus: its works, chunks and vectors, and the queries that were asked of it with their answers.

    \b
    Example:
        ragq corpus delete library
    """
    corpus = with_database(_view, name)
    confirm(f"Delete corpus '{name}' with {corpus_loss(corpus)}?", yes=yes)
    with_database(delete_corpus, corpus.id)
    words = f"Deleted corpus '{name}' and its {counted(corpus.works, 'work')}."
    print_result({"deleted": corpus.name, "works": corpus.works}, words, as_json=as_json)


@corpus_group.command("remove")
@click.argument("name")
@click.argument("works", nargs=-1, required=True, type=WORK, metavar="WORK...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def remove_command(name: str, works: tuple[int, ...], yes: bool, as_json: bool) -> None:
    """Remove works by their numbers, with their chunks and vectors: all that are named, or none.

    `ragq corpus show` has the numbers. Answers that cite a removed work keep their text.

    \b
    Example:
        ragq corpus remove library 7 9
    """
    corpus = with_database(corpus_of_name, name)
    confirm(f"Remove {counted(len(works), 'work')} from corpus '{name}'?", yes=yes)
    with_database(remove_works, corpus.id, works)
    print_result({"removed": works}, f"Removed {counted(len(works), 'work')}.", as_json=as_json)


async def _view(connection: Connection, name: str) -> CorpusView:
    return await corpora.view(connection, (await corpus_of_name(connection, name)).id)


@group()
def work() -> None:
    """Show works, with the headings of the documents that they were made from.

    A number is a work, j345 the job that made one. `ragq import works` imports. The page of the document changes what
    became of its headings.

    \b
    Example:
        ragq work show 7
        ragq work chunks 7
    """


document_argument = click.argument("target", metavar="WORK|JOB", type=DOCUMENT)
#: Characters of a chunk in a list; --json has all.
_BEGINS = 80


@work.command("chunks")
@click.argument("work_id", metavar="WORK", type=WORK)
@wanted_options(ChunksWanted, limit=20)
@json_option
def chunks_command(work_id: int, wanted: ChunksWanted, as_json: bool) -> None:
    """List the content chunks of a work, in the order of its text.

    The output contains sensitive text.

    \b
    Example:
        ragq work chunks 7 --limit 5
        ragq work chunks 7 --heading 12
    """
    listed = with_database(works.chunks, work_id, wanted)
    table = FittingTable("chunk", "lines", "state", "under", "begins")
    for one in listed.items:
        lines = f"{one.start_line} to {one.end_line}"
        table.add_row(one.id, lines, one.vector_status, one.heading_breadcrumbs, one.content[:_BEGINS])
    none = f"Work {work_id} has no such chunk. `ragq corpus show NAME` lists works with their chunks."
    print_list(listed, table, none=none, as_json=as_json)


@work.command("show")
@document_argument
@json_option
def work_show_command(target: dict[str, int], as_json: bool) -> None:
    """Show a work and its document: how it was converted, how far its job is, and what became of each heading.

    The number of a line is that of the converted document, `at` that of the work. `!` marks a level that is not that of
    the document's own table of contents.

    \b
    Example:
        ragq work show 7
        ragq work show j345 --json
    """
    shown = with_database(document_view, **target)
    facts: dict[str, Any] = {"job": _name("j", shown.job_id), "run": _name("r", shown.run_id)}
    facts |= shown.model_dump(exclude={"job_id", "run_id"})
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        if value and name not in ("headings", "missing"):
            words = " ".join(map(str, value)) if isinstance(value, tuple) else value
            draw(f"{name.replace('_', ' '):<14} {words}")
    table = FittingTable("line", "page", "level", "repair", "contents", "at", "embedded", "heading")
    for heading in shown.headings:
        table.add_row(*_row(heading))
    draw("", table, *(f"only in the table of contents: {entry.title}" for entry in shown.missing))


@work.command("export")
@document_argument
@json_option
def export_command(target: dict[str, int], as_json: bool) -> None:
    """Print the markdown of a work, or of a job: sanitised, or as it was converted if it is no further.

    \b
    Example:
        ragq work export 7 > tea.md
        ragq work export j345 > converted.md
    """
    markdown, _ = with_database(document_text, **target)
    if as_json:
        print_json({"markdown": markdown})
    else:
        print_data(markdown)


def _name(letter: str, number: int | None) -> str | None:
    return None if number is None else f"{letter}{number}"


def _row(heading: Heading) -> Sequence[object]:
    text = heading.text
    if heading.repaired_text not in (None, text):
        text = f"{heading.repaired_text} (was {text})"
    embedded = None if heading.embeds is None else "yes" if heading.embeds else f"no: {heading.reason}"
    contents = None if heading.toc_level is None else f"{heading.toc_level}{'!' if heading.disagrees else ''}"
    indented = "  " * ((heading.repaired_level or heading.level) - 1) + text
    return heading.line, heading.page, heading.level, heading.action, contents, heading.work_line, embedded, indented
