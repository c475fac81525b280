"""`ragq runs` and `ragq show`: submitted runs and their progress."""

from pathlib import Path

import click

from cli.drawing import Text, plain_table
from cli.ids import RUN
from cli.output import json_option, print_data, print_json, print_list
from cli.prices import chosen_prices, prices_option
from cli.registry import registry_csv, registry_json
from cli.run_config import run_config
from cli.session import with_database
from cli.shown_run import print_run
from cli.watch import read
from schemas.values.costs import RunCost
from schemas.values.score_tables import ScoreTable
from services.costs import cost_of_run
from services.score_tables import run_scores
from stages.reports.run_words import asked_for
from store.database import Connection
from store.runs import overviews
from store.runs.registry import registered
from store.runs.run_view import RunView, with_origin
from store.views.submissions import submission


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with commit, error and coverage of each.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the same as CSV, a line per run and mode.")
def runs(limit: int, as_json: bool, as_csv: bool) -> None:
    """List the newest runs with the states of their jobs, and for unfinished ones their priority and share.

    \b
    Example:
        ragq runs --limit 5
        ragq runs --limit 1000 --csv > registry.csv
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv: choose one.")
    if as_json or as_csv:
        # The figures of scored runs take numpy's statistics, which a list does without.
        registry = with_database(lambda connection: registered(connection, limit=limit))
        if as_json:
            print_json(registry_json(registry))
        else:
            print_data(registry_csv(registry))
        return
    found = with_database(lambda connection: overviews.overviews(connection, limit=limit))
    table = plain_table("run", "name", "kind", "profile", "asked for", "jobs", "states", "priority", "submitted")
    for run in found:
        table.add_row(
            f"r{run.id}",
            Text(run.name or ""),
            run.kind,
            run.profile,
            asked_for(run.request),
            str(run.jobs),
            ", ".join(f"{count} {status}" for status, count in run.states.items()),
            run.turns,
            f"{run.created_at:%Y-%m-%d %H:%M}",
        )
    none = "No run is stored yet. `ragq submit --split paper-test` makes one."
    print_list(found, table, none=none, as_json=False)


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option(
    "--config", "as_config", is_flag=True, help="Print the TOML with which `ragq submit --config` repeats it."
)
@click.option("--with-text", is_flag=True, help="With --config: print its questions or phrases too.")
@prices_option
@json_option
def show(run_id: int, as_config: bool, with_text: bool, price_file: Path | None, as_json: bool) -> None:
    """Show a run: the stages of every job, references kept and rejected, calls, seconds, errors and the cost.

    A run of participants ends with their scores: the eight items in both modes beside the ground truth.

    \b
    Example:
        ragq show r12
        ragq show r12 --config --with-text > run.toml
    """
    if as_config and as_json:
        raise click.UsageError("--config and --json: choose one.")
    if with_text and not as_config:
        raise click.UsageError("--with-text goes with --config.")
    if as_config:
        submitted = with_database(lambda connection: submission(connection, run_id))
        print_data(f"{run_config(submitted, with_text=with_text)}\n")
        return

    prices = chosen_prices(price_file)

    async def shown(connection: Connection) -> tuple[RunView, ScoreTable | None, RunCost]:
        view = await with_origin(connection, await read(connection, run_id, all_jobs=as_json))
        return (
            view,
            await run_scores(connection, run_id),
            await cost_of_run(connection, run_id, prices, by_job=as_json),
        )

    view, scores, cost = with_database(shown)
    print_run(view, scores, cost, as_json=as_json, details=True)
