"""`ragq config`: what the settings are and where they come from."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.table import Column

from cli.drawing import FittingTable, Text, plain_table
from cli.options import effective_settings, settings_options
from cli.output import draw, print_data, print_json
from cli.settings_reference import settings_reference
from schemas.settings.base import value_in_words
from schemas.settings.layers import ENV_FILE, SettingSource
from schemas.settings.name_report import report_names
from schemas.settings.process import PROCESS_SETTINGS, EffectiveProcess, effective_process
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RUN_SETTINGS, settings_hash


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


@config.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.pass_context
def check(context: click.Context, file: Path | None, as_json: bool) -> None:
    """Show what ragq does with each name of FILE, or of the environment and .env.

    A name is honoured, refused, warned about, or not read: the names of ai-psychiatrist's .env too. Values are not
    printed, except those that are refused. Exits with 1 when a submission would be refused.

    \b
    Example:
        ragq config check
        ragq config check ../ai-psychiatrist/.env
    """
    report = report_names(os.environ, ENV_FILE) if file is None else report_names({}, file)
    if as_json:
        print_json({"names": [one._asdict() for one in report.names], "problems": report.problems})
    else:
        table = plain_table("name", "in ragq", "from", "what it does, or what to use instead")
        for one in report.names:
            table.add_row(one.name, one.treatment, Text(one.origin), Text(one.note))
        draw(table)
        for problem in report.problems:
            draw(Text(problem, "red"), err=True)
    if not report.is_usable:
        context.exit(1)


@config.command(hidden=True)
def reference() -> None:
    """Print every setting with its default, what it accepts and what it does, as Markdown.

    \b
    Example:
        ragq config reference > settings.md
    """
    print_data(settings_reference())


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
    draw(
        f"Profile {run.profile} ({run.profile_source})",
        Text("Frozen into a run", "bold"),
        _table(_run_rows(run)),
        Text("Of this process, never frozen", "bold"),
        _table(_process_rows(process)),
    )


def _table(rows: list[Row]) -> FittingTable:
    table = plain_table("", "setting", Column("value", min_width=11, overflow="fold"), "from")
    for row in rows:
        mark, style = ("*", "bold") if row.is_changed else ("", "")
        table.add_row(mark, row.name, Text(value_in_words(row.value)), row.source, style=style)
    return table
