"""A database of many finished runs of participants, made by a few statements."""

import json
from typing import Final

from schemas.chains import stages_of
from schemas.settings.resolve import resolve
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import ItemScore, ParticipantScores
from stages.participants.totals import totals_of
from store.database import Connection
from store.references import interviews
from store.references.interviews import NewParticipant

MODES: Final = ("few_shot", "zero_shot")

RUNS: Final = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version, created_at)
SELECT 'participant', md5(n::text), 'demo', $2, repeat('s', 64), $3, '0', now() - n * interval '1 hour'
FROM generate_series(1, $1::integer) AS n
"""

# Every fiftieth job failed in its last stage.
JOBS: Final = """
INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status, created_at, finished_at)
SELECT r.id, (p.n - 1) * 2 + m.n - 1, 'participant', m.mode, p.n::text, '{"transcript_hash": "t"}',
       CASE WHEN (r.id + p.n) % 50 = 0 THEN 'failed' ELSE 'succeeded' END, r.created_at, r.created_at
FROM run AS r CROSS JOIN generate_series(1, $1::integer) AS p (n)
CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS m (mode, n)
ORDER BY r.id, 2
"""

STAGES: Final = """
INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n, enq_at,
                       worker_id, started_at, finished_at)
SELECT j.id, s.stage, s.n - 1, CASE WHEN j.status = 'failed' AND s.n = $3 THEN 'failed' ELSE 'done' END, 1, 1, 0, 0, 0,
       j.created_at, 'worker', j.created_at, j.created_at + interval '2 seconds'
FROM job AS j CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS s (stage, n)
WHERE j.mode = $1
"""

ATTEMPTS: Final = """
INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output,
                           output_hash, hash, error_type, error_message, error_category, error_details)
SELECT s.job_id, s.stage, 1, 1, 'worker', s.started_at, s.finished_at,
       CASE s.status WHEN 'failed' THEN 'failed' ELSE 'succeeded' END, '{}',
       CASE s.status WHEN 'failed' THEN NULL ELSE coalesce($1::jsonb -> s.stage, '{}') END, 'o', md5(s.job_id::text),
       CASE s.status WHEN 'failed' THEN 'schemas.errors.LLMTimeoutError' END,
       CASE s.status WHEN 'failed' THEN 'LLM request timed out after 600s' END,
       CASE s.status WHEN 'failed' THEN 'scoring_llm_timeout' END, CASE s.status WHEN 'failed' THEN '{}'::jsonb END
FROM stage_run AS s ORDER BY s.job_id, s.position
"""

_FILL_SECONDS: Final = 1800.0


async def fill(connection: Connection, *, runs: int, participants: int) -> int:
    """Store so many runs of so many participants in both modes. How many rows of stages there are then."""
    await interviews.keep(connection, [_participant(number) for number in range(1, participants + 1)], [])
    settings = resolve(profile="demo", environment={}, env_file=None).snapshot()
    request = {"split": "paper-test", "limit": None, "evidence": None, "profile_source": "benchmark"}
    await connection.execute(RUNS, runs, json.dumps(settings), json.dumps(request), timeout=_FILL_SECONDS)
    await connection.execute(JOBS, participants, MODES, timeout=_FILL_SECONDS)
    for mode in MODES:
        stages = stages_of("participant", mode)
        await connection.execute(STAGES, mode, stages, len(stages), timeout=_FILL_SECONDS)
    await connection.execute(ATTEMPTS, json.dumps(_outputs()), timeout=_FILL_SECONDS)
    for table in ("run", "job", "stage_run", "stage_attempt"):
        await connection.execute(f"VACUUM ANALYZE {table}", timeout=_FILL_SECONDS)
    found: int = await connection.fetchval("SELECT count(*) FROM stage_run")
    return found


def _participant(number: int) -> NewParticipant:
    return NewParticipant(
        id=number,
        transcript="Participant: hello",
        transcript_hash="t",
        utterances=[],
        gender=None,
        phq8_binary=None,
        phq8_score=None,
        items={item: (number + place) % 4 for place, item in enumerate(PHQ8Item)},
    )


def _outputs() -> dict[str, object]:
    """Outputs that commands read, by stage."""
    items = {item: ItemScore(score=place % 4, evidence_count=1) for place, item in enumerate(PHQ8Item)}
    totals = totals_of(item.score for item in items.values())
    scores = ParticipantScores(model="scorer", model_digest="d", items=items, totals=totals)
    quotes = ExtractedEvidence(extractor=EvidenceExtractor.LLM, quotes=dict.fromkeys(PHQ8Item, ("up at three",)))
    nothing: dict[str, list[object]] = {item: [] for item in PHQ8Item}
    return {
        "extract": quotes.model_dump(mode="json"),
        "rerank": {"ranker": "similarity", "items": nothing, "dropped": {item: {} for item in PHQ8Item}},
        "validate": {"validator": None, "items": nothing, "verdicts": nothing},
        "score": scores.model_dump(mode="json"),
    }
