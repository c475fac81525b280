"""The registry of runs: each in one line, with its commit and the main figures of its modes."""

from dataclasses import dataclass

from schemas.values.figures import ModeFigures
from stages.reports.figures import mode_figures
from store.database import Connection
from store.runs import overviews, run_figures
from store.runs.overviews import RunOverview

COMMITS = """
SELECT r.id, e.content ->> 'git_commit' AS git_commit, (e.content ->> 'git_dirty')::boolean AS git_dirty
FROM run AS r LEFT JOIN environment AS e ON e.id = r.environment_id WHERE r.id = ANY($1::bigint[])
"""


@dataclass(frozen=True, kw_only=True)
class RegisteredRun(RunOverview):
    """A run with what identifies its code, and its figures."""

    git_commit: str | None
    """The commit of ragq that submitted it; None for an installed package."""
    git_dirty: bool | None
    experiments: tuple[ModeFigures, ...]
    """The modes of a scored run; empty for other kinds."""

    @property
    def draw(self) -> int:
        """The draw of the run."""
        found: int = self.request.get("draw", 0)
        return found


async def registered(connection: Connection, *, limit: int, kind: str | None = None) -> list[RegisteredRun]:
    """The newest runs, of a kind where it is given, newest first. Three statements, however many runs."""
    found = await overviews.overviews(connection, limit=limit, kind=kind)
    ids = [run.id for run in found]
    commits = {row["id"]: row for row in await connection.fetch(COMMITS, ids)}
    scores = await run_figures.job_scores(connection, ids)
    return [
        RegisteredRun(
            **vars(run),
            git_commit=commits[run.id]["git_commit"],
            git_dirty=commits[run.id]["git_dirty"],
            experiments=mode_figures(scores.get(run.id, ())),
        )
        for run in found
    ]
