"""Reads what the main figures of runs are computed from: item scores and labels, for many runs in one statement."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.figures import JobScores, SiblingRun
from schemas.values.phq8 import ITEM_SCORES, AssessmentMode, PHQ8Item
from stages.reports.results import mode_figures
from store.database import Connection
from store.runs import run_models

SCORES = """
SELECT j.run_id, j.id AS job_id, j.mode, j.inputs ->> 'data_set' AS data_set, j.subject::integer AS participant_id,
       j.status, s.job_id IS NOT NULL AS is_to_score, p.items AS labels,
       CASE WHEN a.job_id IS NOT NULL THEN coalesce(
           (SELECT jsonb_object_agg(item.key, item.value -> 'score') FILTER (WHERE item.value ? 'score')
            FROM jsonb_each(CASE jsonb_typeof(a.output -> 'items') WHEN 'object' THEN a.output -> 'items' END) AS item),
           '{}'
       ) END AS scores
FROM job AS j
LEFT JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'score'
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
LEFT JOIN participant AS p
    ON p.data_set = j.inputs ->> 'data_set' AND p.id = CASE j.kind WHEN 'participant' THEN j.subject::integer END
WHERE j.run_id = ANY($1::bigint[]) AND j.kind = 'participant'
ORDER BY j.run_id, j.ordinal
"""

# Of several runs of a draw, which share their answers, one counts: this one, or the newest.
SIBLINGS = """
SELECT DISTINCT ON (r.draw) r.id AS run_id, r.draw
FROM (
    SELECT id, coalesce((request ->> 'draw')::bigint, 0) AS draw FROM run
    WHERE kind = 'participant' AND identity = (SELECT identity FROM run WHERE id = $1)
) AS r
ORDER BY r.draw, (r.id = $1) DESC, r.id DESC
"""

_ITEMS: Final = tuple(PHQ8Item)


async def job_scores(connection: Connection, run_ids: Sequence[int]) -> dict[int, list[JobScores]]:
    """The scores of the jobs of participant runs, by run; runs of other kinds are absent.

    Raises Refused for scores that another version stored in another form.
    """
    found: dict[int, list[JobScores]] = defaultdict(list)
    for row in await connection.fetch(SCORES, list(run_ids)):
        found[row["run_id"]].append(_job_scores(row))
    return found


def _job_scores(row: Mapping[str, Any]) -> JobScores:
    stored = row["scores"]
    if stored is not None and not _is_complete(stored):
        raise Refused(
            f"The scores of run r{row['run_id']} were stored by another version of ragq and cannot be read; "
            f"`ragq inspect j{row['job_id']} score` shows them as stored."
        )
    scores = None if stored is None else {item: stored[item] for item in _ITEMS}
    return JobScores(
        **{**row, "mode": AssessmentMode(row["mode"]), "status": JobStatus(row["status"]), "scores": scores}
    )


def _is_complete(stored: Mapping[str, Any]) -> bool:
    is_score = (score is None or (type(score) is int and score in ITEM_SCORES) for score in stored.values())
    return stored.keys() == set(_ITEMS) and all(is_score)


async def siblings(connection: Connection, run_id: int) -> tuple[SiblingRun, ...]:
    """The runs of the same work in all draws, this one included, whose language models have the same weights."""
    draws = {row["run_id"]: row["draw"] for row in await connection.fetch(SIBLINGS, run_id)}
    if len(draws) < 2:
        return ()
    weights = {
        each: {one.model: one.identity.weights for one in await run_models.frozen(connection, each)} for each in draws
    }
    alike = [each for each in draws if _agree(weights[each], weights[run_id])]
    scores = await job_scores(connection, alike)
    return tuple(SiblingRun(run_id=each, draw=draws[each], modes=mode_figures(scores[each])) for each in alike)


def _agree(one: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> bool:
    return all(one[model] == other[model] for model in one.keys() & other.keys())
