"""What commands import that read stored rows and print them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from store.database import Connection
from store.references import interviews
from store.references.interviews import NewSplit
from tests.api.pages.example_runs import participant_run, question_run
from tests.cli.child_process import Ended, ended
from tests.cli.test_failures import failing_run
from tests.services.marked_run import marked_run

#: What a command may import that computes statistics, and one whose words may have to be wrapped.
WITHOUT_FILES = ("matplotlib", "rich", "httpx", "sqlalchemy", "celery")
WITHOUT_VALUES = ("pydantic", "matplotlib")

HEAVY = ("pydantic", "rich", "numpy", "rapidfuzz", "httpx", "sqlalchemy", "celery")


async def filled(connection: Connection) -> None:
    await failing_run(connection)
    await interviews.keep_splits(
        connection, [NewSplit(name="two", csv_hash="c", ids_hash="i", participant_ids=(316, 319))]
    )
    await participant_run(connection)
    await question_run(connection)


def test_what_has_room_is_printed_without_heavy_libraries(
    stored: Callable[..., Any], database_url: str, tmp_path: Path
) -> None:
    stored(filled)
    servers = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    commands = (
        *("runs", "runs --json", "runs --csv", "show r1", "show r1 --json", "show r2", "show r3"),
        *("inspect j1", "inspect j2 score", "inspect j1 --json", "inspect j4 --json"),
        *("failures r1", "failures r1 --json", "failures r1 --clusters", "failures --json"),
        *("failures r1 --stage score --with-text", "splits show two --json"),
        *("splits list", "query list", "index list", "corpus list", "vocabulary list"),
        *("template list", "template show query_expansion"),
        *("show r1 --config", "show r3 --config", "show r3 --config --with-text"),
    )

    found = {typed: ended(typed.split(), HEAVY, folder=tmp_path, environment=servers) for typed in commands}

    assert found == dict.fromkeys(commands, Ended(0, []))


def test_plots_in_a_terminal_are_drawn_without_matplotlib_and_an_audit_reads_no_values(
    stored: Callable[..., Any], database_url: str, tmp_path: Path
) -> None:
    stored(marked_run)
    servers = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}

    plotted = ended(["plot", "r1"], WITHOUT_FILES, folder=tmp_path, environment=servers)
    audited = ended(["audit"], WITHOUT_VALUES, folder=tmp_path, environment=servers)

    assert (plotted, audited) == (Ended(0, []), Ended(0, []))
