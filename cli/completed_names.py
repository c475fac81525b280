"""Names that a shell completes from the database, if it answers quickly, and from nothing otherwise."""

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from schemas.errors import RagqError
from schemas.settings.layers import ENV_FILE, merged
from stack.connections import database_server
from store import vocabularies
from store.corpora import corpora
from store.database import DATABASE_ERRORS, Connection, Database
from store.questions import presets
from store.references import interviews
from store.runs import overviews

VARIABLE: Final = "_RAGQ_COMPLETE"


#: A shell waits no longer than this for names.
_PATIENCE_S = 1.0


#: Newest runs that are offered.
_RUNS = 50


Lookup = Callable[[Connection], Awaitable[Sequence[CompletionItem]]]


class StoredName(click.ParamType[str]):
    """A text that names something stored. The command checks that it is; the shell completes it."""

    def __init__(self, name: str, lookup: Lookup) -> None:
        self.name = name
        self._lookup = lookup

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The stored names that begin so."""
        return complete(self._lookup, incomplete)


def complete(lookup: Lookup, incomplete: str) -> list[CompletionItem]:
    """What a lookup finds that begins so, in any case of letters; nothing when the database does not answer."""

    async def look() -> Sequence[CompletionItem]:
        database = Database(database_server(merged(os.environ, ENV_FILE)), pool_size=1)
        try:
            async with asyncio.timeout(_PATIENCE_S), database.connection() as connection:
                return await lookup(connection)
        finally:
            await database.close()

    try:
        found = asyncio.run(look())
    # ValueError: a database without pgvector, before its first migration.
    except (RagqError, ValueError):
        return []
    except DATABASE_ERRORS:
        return []
    return [_quoted(item) for item in found if str(item.value).lower().startswith(incomplete.lower())]


def _quoted(item: CompletionItem) -> CompletionItem:
    """bash inserts a completion as it is; the other shells quote it."""
    is_bash = os.environ.get(VARIABLE, "").startswith("bash")
    return CompletionItem(shlex.quote(item.value), help=item.help) if is_bash else item


async def run_names(connection: Connection) -> list[CompletionItem]:
    """The newest runs by number, with their kind, and by name."""
    found = await overviews.overviews(connection, limit=_RUNS)
    numbers = [CompletionItem(f"r{run.id}", help=run.name or run.kind) for run in found]
    return numbers + [CompletionItem(run.name, help=f"r{run.id}") for run in found if run.name]


async def _presets(connection: Connection) -> list[CompletionItem]:
    return [CompletionItem(one.name, help=one.description) for one in await presets.lines(connection)]


async def _corpora(connection: Connection) -> list[CompletionItem]:
    return [CompletionItem(one.name) for one in await corpora.all_corpora(connection)]


async def _vocabularies(connection: Connection) -> list[CompletionItem]:
    return [CompletionItem(one.name) for one in await vocabularies.current(connection)]


async def _splits(connection: Connection) -> list[CompletionItem]:
    return [CompletionItem(one.called, help=one.data_set) for one in await interviews.split_addresses(connection)]


PRESET = StoredName("PRESET", _presets)


CORPUS = StoredName("CORPUS", _corpora)


VOCABULARY = StoredName("VOCABULARY", _vocabularies)


SPLIT = StoredName("SPLIT", _splits)
