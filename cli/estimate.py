"""What commands that store runs have in common: `--dry-run`, which prints instead of submitting, and `--wait`."""

import os
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Group

from cli.config import with_open_database
from cli.main import carry_out
from cli.options import Decorator, together
from cli.output import Drawing, Text, draw, json_option, print_json, print_result, spaced
from cli.sheets import rows_drawing
from schemas.settings.base import ENV_FILE
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import EffectiveSettings
from schemas.values.estimates import Estimate, Prices
from services.estimates import Plan, estimate, prices_of
from stages.reports.costs import money_in_words, stages_table
from stages.reports.words import NOT_AVAILABLE, counted, duration, number, tokens_in_words
from store.database import Database

#: The submission would be refused.
WOULD_BE_REFUSED = 1

dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Print jobs, model calls, tokens, time, money, and why it would be refused. Nothing is stored or sent.",
)


def known_prices() -> Prices | None:
    """The prices of the file that RAGQ_PRICES names; None without one."""
    return prices_of(ProcessSettings.from_environment(os.environ, ENV_FILE))


def print_estimates(plans: Sequence[Plan], settings: EffectiveSettings | None = None, *, as_json: bool) -> None:
    """Print the estimates of planned runs; exit code 1 when one of them would be refused.

    Without settings, of runs that have them from a stored run.
    """
    prices = known_prices()

    async def estimates(database: Database) -> list[Estimate]:
        return [await estimate(database, plan, settings, prices=prices) for plan in plans]

    found = with_open_database(estimates)
    if as_json:
        print_json(found[0] if len(found) == 1 else found)
    else:
        draw(spaced(map(estimate_shown, found)))
    if any(one.missing for one in found):
        raise SystemExit(WOULD_BE_REFUSED)


def estimate_shown(found: Estimate) -> Drawing:
    """An estimate in lines and a table of its stages."""
    lines: list[Drawing] = [Text(f"cannot be submitted: {one}", style="red") for one in found.missing]
    if not found.stages:
        return Group(*lines)
    modes = ", ".join(f"{count} {mode}" for mode, count in found.modes.items())
    lines.append(Text(f"{counted(found.jobs, 'job')} ({modes}), profile {found.profile}; nothing was stored or sent"))
    if found.existing_run:
        lines.append(Text(f"the same work is stored as {found.existing_run}, which would be found"))
    lines.append(rows_drawing(stages_table(found)))
    calls = f"at most {number(found.calls_at_most, 0)}, expected {number(found.calls_expected, 0)}"
    lines.append(Text(f"model calls: {calls}"))
    tokens = tokens_in_words(found.prompt_tokens, found.reply_tokens)
    lines.append(Text(f"tokens of the expected calls: {tokens}"))
    time = NOT_AVAILABLE if found.seconds is None else duration(found.seconds)
    lines.append(Text(f"time: {time}, {_basis(found)}"))
    if found.currency:
        lines.append(Text(f"money: {money_in_words(found.money, found.currency)}"))
    if found.batch_money is not None:
        lines.append(Text(f"money with --batch: {money_in_words(found.batch_money, found.currency)}"))
    lines += [Text(f"model {name}: {state}") for name, state in found.models.items()]
    lines += [Text(notice, style="yellow") for notice in found.notices]
    return Group(*lines)


def _basis(found: Estimate) -> str:
    if not found.basis:
        return f"no past run of kind {found.kind} with these models"
    return f"by the medians of {', '.join(found.basis)}"


def run_options(what: str) -> Decorator:
    """--dry-run, --wait and --json, as `dry_run`, `wait` and `as_json`."""
    follow = click.option("--wait", is_flag=True, help=f"Follow the {what} until it finishes.")
    return together(dry_run_option, follow, json_option)


def conclude(stored: Sequence[Any], *, wait: bool, as_json: bool, **also: Any) -> None:
    """Follow stored runs to their end, or print them: one JSON object, or an array of several."""
    if wait:
        carry_out("watch", run_ids=[one.run_id for one in stored], results=True, as_json=as_json)
        return
    runs = [{"run": f"r{one.run_id}", **also, **vars(one)} for one in stored]
    print_result(runs if len(runs) > 1 else runs[0], "\n".join(f"r{one.run_id}" for one in stored), as_json=as_json)
