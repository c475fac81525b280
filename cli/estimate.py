"""`--dry-run`: prints what a submission would do instead of submitting it."""

from collections.abc import Iterator, Sequence

from rich.console import Group

from cli.config import known_prices, with_open_database
from cli.main import REFUSED
from cli.output import Drawing, Text, draw, print_json, spaced
from cli.sheets import rows_drawing
from schemas.values.costs import Effort, Estimate
from services.estimates import Plan, estimate
from stages.reports.costs import money_in_words
from stages.reports.tables import Table
from stages.reports.words import counted, duration, number, tokens_in_words
from store.database import Database


def print_estimates(plans: Sequence[Plan], *, as_json: bool) -> None:
    """Print the estimates of planned runs; exit code 1 when one of them would be refused."""
    prices = known_prices()

    async def estimates(database: Database) -> list[Estimate]:
        return [await estimate(database, plan, prices) for plan in plans]

    found = with_open_database(estimates)
    if as_json:
        print_json(found[0] if len(found) == 1 else found)
    else:
        draw(spaced(Group(*_shown(one)) for one in found))
    if any(one.missing for one in found):
        raise SystemExit(REFUSED)


def _shown(found: Estimate) -> Iterator[Drawing]:
    """An estimate in lines and a table of its stages."""
    for one in found.missing:
        yield Text(f"cannot be submitted: {one}", style="red")
    modes = ", ".join(f"{count} {mode}" for mode, count in found.modes.items())
    yield Text(f"{counted(found.jobs, 'job')} ({modes}), profile {found.profile}; nothing was stored or sent")
    if found.existing_run:
        yield Text(f"the same work is stored as {found.existing_run}, which would be found")
    columns = ("stage", "jobs", "calls at most", "expected", "tokens", "seconds")
    rows = tuple((name, stage.jobs, *_calls(stage), number(stage.seconds, 1)) for name, stage in found.stages.items())
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
