"""`ragq migrate`: bring the database to this version."""

import os

import click

from cli.session import unreachable
from schemas.settings.layers import ENV_FILE, merged
from stack.connections import database_server
from store import migrate as migrations
from store.database import CONNECTION_ERRORS


@click.command()
def migrate() -> None:
    """Make or bring up to date every table in the database. Running it again changes nothing.

    `ragq up` does this by itself for the database it starts.

    \b
    Example:
        DATABASE_URL=postgresql://me:secret@db.example.org/ragq ragq migrate
    """
    try:
        migrations.upgrade(database_server(merged(os.environ, ENV_FILE)))
    except CONNECTION_ERRORS as error:
        raise unreachable(error) from error
    click.echo("The database is up to date.", err=True)
