"""`ragq config`: what the settings are and where they come from."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import asyncpg
import click
from rich.table import Column

from cli.options import group, with_settings
from cli.output import FittingTable, Text, draw, print_json
from schemas.errors import StackError
from schemas.settings.base import ENV_FILE, Setting, SettingSource, allowed, merged, value_in_words
from schemas.settings.process import PROCESS_SETTINGS, ProcessSettings, effective_process, prices_of
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RUN_SETTINGS, settings_hash
from schemas.values.costs import Prices
from stack.connections import Connections, connections
from store.database import UNAVAILABLE_ERRORS, Connection, Database, condition


@group()
def config() -> None:
    """Show the settings and where each value comes from.

    \b
    Example:
        ragq config show --profile paper
    """


@config.command()
@with_settings
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with what each setting accepts and does.")
def show(settings: EffectiveSettings, as_json: bool) -> None:
    """Show every value a run submitted here would get, and the settings of this process.

    Values other than the default are marked with *. Secrets are never shown.

    \b
    Example:
        ragq config show
        ragq config show --profile paper --set EMBEDDING_TOP_K_REFERENCES=5
        ragq config show --json
    """
    process, sources = effective_process(os.environ, ENV_FILE)
    values = process.model_dump(mode="json")
    of_run = _shown(RUN_SETTINGS, settings.run.values(), settings.sources)
    of_process = _shown(PROCESS_SETTINGS, {name: values[one.field] for name, one in PROCESS_SETTINGS.items()}, sources)
    if as_json:
        of_profile = {"profile": settings.profile, "profile_source": settings.profile_source}
        hashed = settings_hash(settings.run)
        print_json(of_profile | {"settings_hash": hashed, "run": of_run, "process": of_process})
    else:
        draw(
            f"Profile {settings.profile} ({settings.profile_source})",
            Text("Frozen into a run", "bold"),
            _table(of_run),
            Text("Of this process, never frozen", "bold"),
            _table(of_process),
        )


def _shown(
    settings: Mapping[str, Setting], values: Mapping[str, Any], sources: Mapping[str, SettingSource]
) -> dict[str, dict[str, Any]]:
    """Each setting as JSON shows it; a secret's value is replaced by a word about it."""
    shown = {}
    for name, setting in settings.items():
        is_changed = values[name] != setting.info.default
        value = "set, not shown" if is_changed and not setting.info.repr else values[name]
        state = {"value": value, "source": sources[name], "changed": is_changed}
        shown[name] = state | {"accepts": allowed(setting), "effect": setting.description}
    return shown


def _table(shown: Mapping[str, Mapping[str, Any]]) -> FittingTable:
    table = FittingTable("", "setting", Column("value", min_width=11, overflow="fold"), "from")
    for name, one in shown.items():
        mark, style = ("*", "bold") if one["changed"] else ("", "")
        table.add_row(mark, name, value_in_words(one["value"]), one["source"], style=style)
    return table


Result = TypeVar("Result")
Given = ParamSpec("Given")


def servers() -> Connections:
    """The servers of the environment, the .env file, or the running stack."""
    return connections(merged(os.environ, ENV_FILE))


def known_prices() -> Prices | None:
    """The prices of the file that RAGQ_PRICES names; None without one."""
    return prices_of(ProcessSettings.from_environment(os.environ, ENV_FILE))


def with_database(
    work: Callable[Concatenate[Connection, Given], Awaitable[Result]], *args: Given.args, **options: Given.kwargs
) -> Result:
    """What a coroutine gives on a connection to the database. Raises StackError when the database is unavailable."""

    async def connected(database: Database) -> Result:
        async with database.connection() as connection:
            return await work(connection, *args, **options)

    return _run(connected)


def with_open_database(
    work: Callable[Concatenate[Database, Given], Awaitable[Result]], *args: Given.args, **options: Given.kwargs
) -> Result:
    """As `with_database`, of a coroutine that opens its own connections, one at a time."""
    return _run(lambda database: work(database, *args, **options))


def unavailable(error: BaseException) -> StackError:
    """What a command reports when the database cannot be used, with the next step."""
    words, remedy = condition(error)
    return StackError(f"The database {words} ({type(error).__name__}). {remedy}")


def _run(work: Callable[[Database], Awaitable[Result]]) -> Result:
    # The signal module asks for the words of the event loop's handler, which hold those of what its coroutine returned:
    # every row of a run, twice. So it returns nothing.
    results: list[Result] = []

    async def connected() -> None:
        database = Database(servers().database_url, pool_size=1)
        try:
            results.append(await work(database))
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):
            raise StackError("The database lacks tables of this version. `ragq db migrate` makes them.") from None
        except ValueError as error:
            if "unknown type" not in str(error):
                raise
            raise StackError("The database has no pgvector yet. `ragq db migrate` prepares it.") from None
        except UNAVAILABLE_ERRORS as error:
            raise unavailable(error) from error
        finally:
            await database.close()

    asyncio.run(connected())
    return results[0]
