"""`ragq config`: what the settings are and where they come from."""

import os
from typing import Any, NamedTuple

import click
from rich.table import Table
from rich.text import Text

from cli.output import console, print_json
from cli.settings_options import effective_settings, settings_options
from cli.settings_reference import settings_reference
from schemas.settings.layers import ENV_FILE, SettingSource
from schemas.settings.process import PROCESS_SETTINGS, EffectiveProcess, effective_process
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RUN_SETTINGS, settings_hash
from schemas.settings.words import value_in_words


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def config() -> None:
    """Show the settings and where each value comes from.

    \b
    Example:
        ragq config show --profile paper
    """


@config.command()
@settings_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def show(profile: str | None, assignments: tuple[tuple[str, str], ...], as_json: bool) -> None:
    """Show every value a run submitted here would get, and the settings of this process.

    Values other than the default are marked with *. Secrets are never shown.

    \b
    Example:
        ragq config show
        ragq config show --profile paper --set EMBEDDING_TOP_K_REFERENCES=5
        ragq config show --json
    """
    run = effective_settings(profile, assignments)
    process = effective_process(os.environ, ENV_FILE)
    if as_json:
        print_json(_as_json(run, process))
    else:
        _print_tables(run, process)


@config.command(hidden=True)
def reference() -> None:
    """Print every setting with its default, what it accepts and what it does, as Markdown.

    \b
    Example:
        ragq config reference > docs/settings.md
    """
    click.echo(settings_reference(), nl=False)


class Row(NamedTuple):
    """One setting as it is shown; a secret's value is replaced by a word about it."""

    name: str
    value: Any
    source: SettingSource
    is_changed: bool


def _run_rows(run: EffectiveSettings) -> list[Row]:
    return [
        Row(name, value, run.sources[name], value != RUN_SETTINGS[name].default)
        for name, value in run.run.values().items()
    ]


def _process_rows(process: EffectiveProcess) -> list[Row]:
    values = process.settings.model_dump(mode="json")
    rows = []
    for name, setting in PROCESS_SETTINGS.items():
        value = values[setting.field]
        is_changed = value != setting.default
        shown = "set, not shown" if setting.is_secret and is_changed else value
        rows.append(Row(name, shown, process.sources[name], is_changed))
    return rows


def _as_json(run: EffectiveSettings, process: EffectiveProcess) -> dict[str, Any]:
    def by_name(rows: list[Row]) -> dict[str, Any]:
        return {row.name: {"value": row.value, "source": row.source, "changed": row.is_changed} for row in rows}

    return {
        "profile": run.profile,
        "profile_source": run.profile_source,
        "settings_hash": settings_hash(run.run),
        "run": by_name(_run_rows(run)),
        "process": by_name(_process_rows(process)),
    }


def _print_tables(run: EffectiveSettings, process: EffectiveProcess) -> None:
    out = console()
    out.print(f"Profile {run.profile} ({run.profile_source})", markup=False, highlight=False)
    out.print(_table("Frozen into a run", _run_rows(run)))
    out.print(_table("Of this process, never frozen", _process_rows(process)))


def _table(title: str, rows: list[Row]) -> Table:
    table = Table("", "setting", "value", "from", title=title, title_justify="left", box=None)
    for row in rows:
        mark, style = ("*", "bold") if row.is_changed else ("", "")
        table.add_row(mark, row.name, Text(value_in_words(row.value)), row.source, style=style)
    return table
