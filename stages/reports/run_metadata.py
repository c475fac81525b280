"""The identity of a run in its report."""

from schemas.values.query_runs import QueryRun
from schemas.values.reports import RunMetadata
from schemas.values.scored_runs import ScoredRun
from stages.reports.run_words import notices


def run_metadata(kind: str, run: ScoredRun | QueryRun) -> RunMetadata:
    """With the notices about the results of a run of this kind."""
    return RunMetadata(
        run_id=f"r{run.run_id}",
        profile=run.profile,
        profile_source=run.request.get("profile_source"),
        ragq_version=run.version,
        identity=run.identity,
        settings_hash=run.settings_hash,
        notices=tuple(notices(kind, run.profile, run.request)),
        draw=run.request.get("draw", 0),
        origin=run.origin,
    )
