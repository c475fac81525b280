"""`ragq corpus`: the corpora and what is in them."""

from dataclasses import asdict

import click

from cli.drawing import plain_table
from cli.lazy_group import LazyGroup
from cli.output import print_list
from cli.session import with_database
from store.corpora import corpora
from store.corpora.corpora import CorpusContent, StoredCorpus
from store.database import Connection

_COMMANDS = {name: f"cli.one_corpus:{name}_command" for name in ("show", "delete")}


@click.group("corpus", cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def corpus_group() -> None:
    """List, show and delete corpora: works that are searched together.

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
    listed = with_database(_listed)
    table = plain_table("name", "works", "searchable", "waiting", "failed", "model", "dimension", "language")
    for corpus, content in listed:
        numbers = (content.works, content.searchable, content.waiting, content.failed)
        read_by = "" if corpus.full_text == corpus.language else f" ({corpus.full_text})"
        language = f"{corpus.language or 'not known yet'}{read_by}"
        table.add_row(corpus.name, *map(str, numbers), corpus.model, str(corpus.dimension), language)
    none = "There is no corpus yet. `ragq import works PATH` makes one."
    print_list([asdict(corpus) | content._asdict() for corpus, content in listed], table, none=none, as_json=as_json)


async def _listed(connection: Connection) -> list[tuple[StoredCorpus, CorpusContent]]:
    return [(corpus, await corpora.content(connection, corpus.id)) for corpus in await corpora.all_corpora(connection)]
