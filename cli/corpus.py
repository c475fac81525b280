"""`ragq corpus`: the corpora and what is in them."""

import click

from cli.config import with_database
from cli.ids import WORK
from cli.options import group, wanted_options
from cli.output import confirm, draw, json_option, print_json, print_rest, print_result
from cli.sheets import print_listing, rows_drawing
from schemas.full_text import language_words
from schemas.values.requests import WorksWanted
from services.corpora import CorpusLoss, corpus_loss, corpus_of_name, delete_corpus, embedding_loss, remove_works
from services.documents import ListedDocument, listed_documents
from services.listings import corpora_table, listed_corpora, works_table
from stages.reports.words import chunk_size_words, counted
from store.corpora import corpora, works
from store.corpora.corpora import CorpusContent, StoredCorpus
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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the corpora, with how many of their chunks can be searched, and the language of each.

    Where full text has no dictionary for the language, the configuration that it uses stands in parentheses.

    \b
    Example:
        ragq corpus list
    """
    listed = with_database(listed_corpora)
    none = "There is no corpus yet. `ragq import works PATH` makes one."
    values = [dict(one.corpus) | dict(one.content) for one in listed]
    print_listing(values, corpora_table(listed), none=none, as_json=as_json)


@corpus_group.command("show")
@click.argument("name")
@wanted_options(WorksWanted, "search", "limit", "offset")
@json_option
def show_command(name: str, wanted: WorksWanted, as_json: bool) -> None:
    """Show a corpus and its works, with the jobs that made them of documents.

    A chunk whose job failed waits: `ragq retry RUN` tries it again, and so does the next `ragq import works`.

    \b
    Example:
        ragq corpus show library
        ragq corpus show library --search tea
    """
    corpus, content, in_it, found = with_database(_shown, name, wanted)
    if as_json:
        listed = [dict(one.work) | {"job": None if one.job_id is None else f"j{one.job_id}"} for one in in_it]
        loss = {"unseen_share": content.unseen_share, "works_found": found}
        print_json(dict(corpus) | dict(content) | loss | {"works": listed})
        return
    draw(
        f"{corpus.name}: {content.works} works, {content.searchable} chunks can be found, {content.waiting} wait for a "
        f"vector ({content.failed} of them failed), {content.tables} tables, {content.figures} figures",
    )
    weights = "none yet" if corpus.model_digest is None else corpus.model_digest[:12] or "unknown"
    headings = "with" if corpus.embeds_headings else "without"
    draw(
        f"embedded by {corpus.model} ({corpus.backend}, {corpus.dimension} dimensions, weights {weights}"
        f"{', ' + ' and '.join(corpus.model_dtypes) if corpus.model_dtypes else ''}), {headings} "
        f"headings",
    )
    draw(language_words(corpus.language))
    draw(f"{chunk_size_words(corpus.chunk_tokens)}; {embedding_loss(corpus, content)}")
    draw(rows_drawing(works_table(in_it)))
    print_rest(found, len(in_it), offset=wanted.offset, otherwise=", --search finds some")


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
    corpus, content, loss = with_database(_to_delete, name)
    if not yes:
        confirm(f"Delete corpus '{name}' with {loss}?")
    with_database(delete_corpus, corpus.id)
    words = f"Deleted corpus '{name}' and its {counted(content.works, 'work')}."
    print_result({"deleted": corpus.name, "works": content.works}, words, as_json=as_json)


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
    if not yes:
        confirm(f"Remove {counted(len(works), 'work')} from corpus '{name}'?")
    removed = with_database(remove_works, corpus.id, works)
    words = "\n".join(f"Removed work {work.id}: {work.title}." for work in removed)
    print_result({"removed": removed}, words, as_json=as_json)


async def _shown(
    connection: Connection, name: str, wanted: WorksWanted
) -> tuple[StoredCorpus, CorpusContent, list[ListedDocument], int]:
    corpus = await corpus_of_name(connection, name)
    in_it = await listed_documents(connection, corpus.id, **dict(wanted))
    found = await works.count(connection, corpus.id, search=wanted.search)
    return corpus, await corpora.content(connection, corpus.id), in_it, found


async def _to_delete(connection: Connection, name: str) -> tuple[StoredCorpus, CorpusContent, CorpusLoss]:
    corpus = await corpus_of_name(connection, name)
    content = await corpora.content(connection, corpus.id)
    return corpus, content, await corpus_loss(connection, corpus, content)
