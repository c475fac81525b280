"""`ragq migrate`: bring the database to this version."""

import asyncio
import os

import asyncpg
import click

from cli.output import print_json, print_text
from cli.session import unavailable
from schemas.settings.layers import ENV_FILE, merged
from stack.connections import database_server
from store import migrate as migrations
from store import revision
from store.database import UNAVAILABLE_ERRORS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the revisions before and after.")
def migrate(as_json: bool) -> None:
    """Make or bring up to date every table in the database. Running it again changes nothing.

    `ragq up` does this by itself for the database it starts.

    \b
    Example:
        DATABASE_URL=postgresql://me:secret@db.example.org/ragq ragq migrate
    """
    url = database_server(merged(os.environ, ENV_FILE))
    try:
        before = asyncio.run(_revision(url))
        migrations.upgrade(url)
        after = asyncio.run(_revision(url))
    except UNAVAILABLE_ERRORS as error:
        raise unavailable(error) from error
    if as_json:
        print_json({"before": before, "after": after})
    print_text("The database is up to date.", err=True)


async def _revision(database_url: str) -> str | None:
    connection = await asyncpg.connect(database_url)
    try:
        return await revision.stored(connection)
    finally:
        await connection.close()
