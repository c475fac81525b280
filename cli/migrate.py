"""`ragq migrate`: bring the database to this version."""

import click

from cli.session import servers
from store import migrate as migrations


@click.command()
def migrate() -> None:
    """Make or bring up to date every table in the database. Running it again changes nothing.

    `ragq up` does this by itself for the database it starts.

    \b
    Example:
        DATABASE_URL=postgresql://me:secret@db.example.org/ragq ragq migrate
    """
    migrations.upgrade(servers().database_url)
    click.echo("The database is up to date.", err=True)
