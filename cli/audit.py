"""`ragq audit`: whether anything that was stored has changed since."""

import click

from cli.drawing import Text
from cli.ids import RUN
from cli.output import draw, json_option, print_json, print_text
from cli.session import with_database
from stages.reports.numbers_in_words import counted
from store.database import Connection
from store.runs import overviews
from store.runs.audit import PROVES, Audit
from store.runs.audit import audit as audit_run


@click.command()
@click.argument("run_ids", metavar="[RUN]...", type=RUN, nargs=-1)
@json_option
def audit(run_ids: tuple[int, ...], as_json: bool) -> None:
    """Recompute every hash of these runs, or of all: settings, outputs, vectors, requests, the chains of attempts.

    Exit code 1 when one differs. The hashes find a change that was made without them; somebody who can write to the
    whole database can compute new ones: `ragq export` writes a run to a file that can be kept elsewhere.

    \b
    Example:
        ragq audit r12
    """

    async def audited(connection: Connection) -> dict[int, Audit]:
        found = {}
        for run_id in run_ids or await overviews.ids(connection):
            # A transaction, so that a running run is audited as it is at one moment.
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                await overviews.get(connection, run_id)
                found[run_id] = await audit_run(connection, run_id)
        return found

    found = with_database(audited)
    attempts = sum(one.attempts for one in found.values())
    flaws = [(run_id, flaw) for run_id, one in found.items() for flaw in one.flaws]
    if as_json:
        listed = [{"run": f"r{run_id}", **flaw._asdict()} for run_id, flaw in flaws]
        print_json({"attempts": attempts, "flaws": listed, "proves": PROVES})
    else:
        for run_id, flaw in flaws:
            print_text(str(flaw) if len(found) == 1 else f"r{run_id}: {flaw}")
        runs = "" if len(found) == 1 else f" of {counted(len(found), 'run')}"
        print_text(f"{counted(attempts, 'attempt')}{runs} checked, {counted(len(flaws), 'flaw')}.")
        draw(Text(PROVES, "dim"), err=True)
    if flaws:
        raise SystemExit(1)
