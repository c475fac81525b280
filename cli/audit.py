"""`ragq audit`: whether anything that was stored has changed since."""

import click

from cli.ids import RUN
from cli.output import print_json
from cli.session import with_database
from schemas.errors import RunMissingError
from stages.reports.numbers_in_words import counted
from store.database import Connection
from store.runs import attempts, runs
from store.runs.attempts import Audit


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def audit(run_id: int, as_json: bool) -> None:
    """Recompute every hash of a run: outputs, vectors, and the chain of attempts. Exit code 1 when one differs.

    \b
    Example:
        ragq audit r12
    """

    async def recompute(connection: Connection) -> Audit:
        if not await runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
        return await attempts.audit(connection, run_id)

    found = with_database(recompute)
    if as_json:
        print_json({"attempts": found.attempts, "flaws": [flaw._asdict() for flaw in found.flaws]})
    else:
        for flaw in found.flaws:
            click.echo(f"j{flaw.job_id} {flaw.stage} attempt {flaw.number}: {flaw.what}")
        click.echo(f"{counted(found.attempts, 'attempt')} checked, {counted(len(found.flaws), 'flaw')}.")
    if found.flaws:
        raise SystemExit(1)
