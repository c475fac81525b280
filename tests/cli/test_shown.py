"""What commands show people."""

from typing import Final

from syrupy.assertion import SnapshotAssertion

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.shown import as_read
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run

COMMANDS: Final = (
    *("--help", "submit --help", "ask --help"),
    *("runs", "show r1", "failures r1", "report r1 --bootstrap-resamples 20"),
    *("diff r1 r2 --mode zero_shot --bootstrap-resamples 20", "inspect j1", "preset list", "template list"),
    *("report r1 --latex --bootstrap-resamples 20", "splits list", "index list", "corpus list", "vocabulary list"),
)


async def two_runs(connection: Connection) -> None:
    """Two participants in two modes, of whom one fails once, and the same with other scores."""
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    for first in ("11", "10"):
        await store_scored_run(
            connection,
            {
                ("zero_shot", 316): scores(first, "21", "53"),
                ("few_shot", 316): scores("10", "21", "53"),
                ("zero_shot", 319): scores("2", "1", "4"),
                ("few_shot", 319): TIMED_OUT,
            },
        )
    for table, ended in (("stage_run", "finished_at"), ("stage_attempt", "ended_at")):
        await connection.execute(f"UPDATE {table} SET {ended} = started_at + interval '2 s' WHERE {ended} IS NOT NULL")


def test_what_commands_show_is_what_was_read(ragq: Ragq, stored: Stored, snapshot: SnapshotAssertion) -> None:
    stored(two_runs)
    for command in COMMANDS:
        done = ragq(*command.split())
        assert as_read(f"{done.output}[{done.exit_code}]") == snapshot(name=command)
