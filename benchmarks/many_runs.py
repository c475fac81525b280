"""A database of many finished runs of participants, made by a few statements."""

import json
import random
from collections.abc import Iterator, Mapping
from itertools import product
from statistics import fmean
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from schemas.chains import stages_of
from schemas.settings.resolve import resolve
from schemas.values.participants import (
    EvidenceExtractor,
    ExtractedEvidence,
    RankedReferences,
    Reference,
    SimilarityStatistics,
    ValidatedReferences,
)
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import ItemScore, NAReason, ParticipantScores
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
       CASE s.status WHEN 'failed' THEN NULL ELSE coalesce(o.output::jsonb, '{}') END, 'o', md5(s.job_id::text),
       CASE s.status WHEN 'failed' THEN 'schemas.errors.LLMTimeoutError' END,
       CASE s.status WHEN 'failed' THEN 'LLM request timed out after 600s' END,
       CASE s.status WHEN 'failed' THEN 'scoring_llm_timeout' END, CASE s.status WHEN 'failed' THEN '{}'::jsonb END
FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
LEFT JOIN made_output AS o ON (o.mode, o.subject, o.stage, o.variant) = (j.mode, j.subject, s.stage, j.run_id % $1)
ORDER BY s.job_id, s.position
"""

OUTPUTS: Final = (
    "CREATE TEMPORARY TABLE made_output (mode text, subject text, stage text, variant integer, output text)"
)

VARIANTS: Final = 3
"""How many runs in a row differ in what they scored."""

_FILL_SECONDS: Final = 1800.0
_EVIDENCE: Final = "I have trouble to fall asleep on most nights, and then I am up again at three."
_REASON: Final = "The participant describes trouble with this on more than half of the days of two weeks."


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
    await connection.execute(OUTPUTS)
    await connection.copy_records_to_table("made_output", records=_outputs(participants))
    await connection.execute(ATTEMPTS, VARIANTS, timeout=_FILL_SECONDS)
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


class _Output(NamedTuple):
    mode: str
    subject: str
    stage: str
    variant: int
    output: str


def _outputs(participants: int) -> Iterator[_Output]:
    """Outputs that commands read: of each participant others, as a run of a model has them."""
    chance = random.Random(1)
    for mode, participant, variant in product(MODES, range(1, participants + 1), range(VARIANTS)):
        for stage, output in _of_job(chance, has_references=mode == "few_shot").items():
            yield _Output(mode, str(participant), stage, variant, output.model_dump_json())


def _of_job(chance: random.Random, *, has_references: bool) -> Mapping[str, BaseModel]:
    quotes, references, items = scored(chance, has_references=has_references)
    totals = totals_of(item.score for item in items.values())
    found: dict[str, BaseModel] = {
        "extract": ExtractedEvidence(extractor=EvidenceExtractor.LLM, quotes=quotes),
        "score": ParticipantScores(model="scorer", model_digest="d", items=items, totals=totals),
    }
    if not has_references:
        return found
    nothing: dict[PHQ8Item, dict[str, int]] = {item: {} for item in PHQ8Item}
    return found | {
        "rerank": RankedReferences(ranker="similarity", items=references, dropped=nothing),
        "validate": ValidatedReferences(validator=None, items=references, verdicts=dict.fromkeys(PHQ8Item, ())),
    }


class Scored(NamedTuple):
    """A participant, as a model scores one: a few items are N/A, and similarities are all different."""

    quotes: dict[PHQ8Item, tuple[str, ...]]
    references: dict[PHQ8Item, tuple[Reference, ...]]
    items: dict[PHQ8Item, ItemScore]


def scored(chance: random.Random, *, has_references: bool) -> Scored:
    """The next participant by chance."""
    quotes = {item: (_EVIDENCE,) * chance.choice((0, 1, 1, 2, 2, 3, 4, 6)) for item in PHQ8Item}
    references = {item: _references(chance) if has_references and found else () for item, found in quotes.items()}
    items = {item: _score(chance, len(quotes[item]), references[item]) for item in PHQ8Item}
    return Scored(quotes, references, items)


def _references(chance: random.Random) -> tuple[Reference, ...]:
    similarities = sorted((chance.uniform(0.6, 0.9) for _ in range(2)), reverse=True)
    common: dict[str, Any] = {"participant_id": 1, "chunk_hash": "0" * 12, "chunk_chars": 400}
    return tuple(
        Reference(chunk_id=number, ordinal=number, similarity=similarity, score=chance.randrange(4), **common)
        for number, similarity in enumerate(similarities)
    )


def _score(chance: random.Random, quotes: int, references: tuple[Reference, ...]) -> ItemScore:
    if not quotes:
        return ItemScore(na_reason=NAReason.NO_MENTION)
    found = [reference.similarity for reference in references]
    return ItemScore(
        evidence=_EVIDENCE,
        reason=_REASON,
        score=chance.randrange(4),
        confidence=chance.randint(1, 5),
        evidence_source=EvidenceExtractor.LLM,
        evidence_count=quotes,
        retrieval=SimilarityStatistics(
            count=len(found), mean=fmean(found) if found else None, maximum=max(found, default=None)
        ),
    )
