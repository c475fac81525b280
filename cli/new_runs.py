"""What commands that store runs have in common: `--dry-run`, which prints what they would do, and `--wait`."""

from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.console import Group

from cli.config import known_prices, with_open_database
from cli.main import REFUSED, carry_out
from cli.options import together
from cli.output import Drawing, Text, draw, json_option, print_json, print_result, print_text, spaced
from cli.sheets import rows_drawing
from schemas.values.costs import Effort, Estimate
from services.new_runs import Submitted
from services.submit import Plan, estimate
from stages.reports.costs import money_in_words
from stages.reports.tables import Table
from stages.reports.words import counted, duration, number, tokens_in_words

dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Print jobs, model calls, tokens, time, money, and why it would be refused. Nothing is stored or sent.",
)

wait_option = click.option("--wait", is_flag=True, help="Follow what was stored until it finishes.")
#: --dry-run, --wait and --json, as `dry_run`, `wait` and `as_json`.
run_options = together(dry_run_option, wait_option, json_option)


def report_stored(one: Submitted, made: str, *, again: str, notices: bool = True) -> None:
    """Print on stderr what a new run is, or that it was stored before and what continues, and its notices. `again` is
    what was done before."""
    run = f"r{one.run_id}"
    if one.is_new:
        words = f"{run}: {made}."
    elif one.resumed:
        words = f"Already {again} as {run}; {one.resumed} of {counted(one.jobs, 'job')} continue."
    else:
        words = f"Already {again} as {run}; nothing new was stored. --new forces another run."
    for sentence in (words, *(one.notices if notices else ())):
        print_text(sentence, err=True)


def conclude(stored: Sequence[Any], *, wait: bool, as_json: bool, **also: Any) -> None:
    """Follow stored runs to their end, or print them: one JSON object, or an array of several."""
    if wait:
        carry_out("watch", run_ids=[one.run_id for one in stored], results=True, as_json=as_json)
        return
    runs = [{"run": f"r{one.run_id}", **also, **vars(one)} for one in stored]
    print_result(runs if len(runs) > 1 else runs[0], "\n".join(f"r{one.run_id}" for one in stored), as_json=as_json)


def print_estimates(plans: Sequence[Plan], *, as_json: bool) -> None:
    """Print the estimates of planned runs; exit code 1 when one of them would be refused."""
    prices = known_prices()
    found = [with_open_database(estimate, plan, prices) for plan in plans]
    if as_json:
        print_json(found[0] if len(found) == 1 else found)
    else:
        draw(spaced(Group(*_shown(one)) for one in found))
    if any(one.missing for one in found):
        raise SystemExit(REFUSED)


def _shown(found: Estimate) -> Iterator[Drawing]:
    for one in found.missing:
        yield Text(f"cannot be submitted: {one}", style="red")
    modes = ", ".join(f"{count} {mode}" for mode, count in found.modes.items())
    yield Text(f"{counted(found.jobs, 'job')} ({modes}), profile {found.profile}; nothing was stored or sent")
    if found.existing_run:
        yield Text(f"the same work is stored as {found.existing_run}, which would be found")
    columns = ("stage", "jobs", "calls at most", "expected", "tokens", "seconds")
    rows = tuple(
        (name, stage.jobs, *(_calls(stage) if stage.calls_at_most != 0 else ("",) * 3), number(stage.seconds, 1))
        for name, stage in found.stages.items()
    )
    yield rows_drawing(Table("Stages", columns, rows))
    at_most, expected, tokens = _calls(found)
    yield Text(f"model calls: at most {at_most}, expected {expected}")
    yield Text(f"tokens of the expected calls: {tokens}")
    medians = f"by the medians of {', '.join(found.basis)}"
    basis = medians if found.basis else f"no past run of kind {found.kind} with these models"
    yield Text(f"time: {duration(found.seconds)}, {basis}")
    if found.currency:
        yield Text(f"money: {money_in_words(found.money, found.currency)}")
    if found.batch_money is not None:
        yield Text(f"money with --batch: {money_in_words(found.batch_money, found.currency)}")
    for name, state in found.models.items():
        yield Text(f"model {name}: {state}")
    for notice in found.notices:
        yield Text(notice, style="yellow")


def _calls(of: Effort) -> tuple[str, str, str]:
    """Calls at most and expected, and the tokens of these."""
    return number(of.calls_at_most, 0), number(of.calls_expected, 0), tokens_in_words(of.prompt_tokens, of.reply_tokens)
