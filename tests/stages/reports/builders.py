"""Short ways to write scored runs."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.costs import StageCalls, StageWork
from schemas.values.differences import Measures
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.queries import RankedQuery
from schemas.values.runs import FailedAttempt, IndexIdentity, OutputTelemetry, ScoredJob, ScoredRun, SettingValue
from schemas.values.scoring import ItemScore, JobScores, ParticipantScores
from stages.participants.score_reply import totals_of
from stages.participants.validate import keep_all
from tests.stages.participants.builders import ranked

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
FEW = Measures(bootstrap_resamples=50)
CHOSEN = {"bootstrap_resamples": FEW.bootstrap_resamples}
ZERO_SHOT, FEW_SHOT = AssessmentMode

INDEX = IndexIdentity(
    id=7,
    name="small",
    data_set="data",
    split="paper-train",
    split_csv_hash="c",
    split_ids_hash="i",
    backend="huggingface",
    model="tiny",
    model_digest="weights",
    dimension=2,
    chunk_size=8,
    chunk_step=2,
    min_evidence_chars=8,
    participants=2,
    chunks=20,
)


def scores(digits: str, confidences: str = "", stated: str = "") -> ParticipantScores:
    """Eight digits; `-` is N/A. A confidence is the number of quotes; `stated` is the confidence the model states."""
    items = {
        item: ItemScore(
            score=None if digit == "-" else int(digit),
            confidence=None if sure == "-" else int(sure),
            evidence_count=int(count),
            evidence="words of a participant",
            reason="why that is",
        )
        for item, digit, count, sure in zip(
            PHQ8Item, digits.ljust(8, "-"), confidences.ljust(8, "0"), stated.ljust(8, "-"), strict=True
        )
    }
    return ParticipantScores(
        model="scorer", model_digest="d1", items=items, totals=totals_of(item.score for item in items.values())
    )


def labels(digits: str) -> dict[str, int]:
    """Eight digits as stored labels; missing ones are 0."""
    return {item.evidence_key: int(digit) for item, digit in zip(PHQ8Item, digits.ljust(8, "0"), strict=True)}


def job(
    job_id: int,
    participant_id: int,
    scored: ParticipantScores | None,
    truth: str | None,
    *,
    mode: AssessmentMode = ZERO_SHOT,
    status: JobStatus | None = None,
) -> ScoredJob:
    """One participant; without scores the job failed, unless its status is given."""
    default = JobStatus.FAILED if scored is None else JobStatus.SUCCEEDED
    return ScoredJob(
        job_id=job_id,
        mode=mode,
        participant_id=participant_id,
        status=status or default,
        index_id=INDEX.id if mode is FEW_SHOT else None,
        scores=scored,
        labels=None if truth is None else labels(truth),
        embedding_digest="weights" if mode is FEW_SHOT else None,
        embedding_dtype="float32" if mode is FEW_SHOT else None,
        ranked=ranked({}) if mode is FEW_SHOT else None,
        validated=keep_all(ranked({})) if mode is FEW_SHOT else None,
    )


def failed(job_id: int, subject: int, *, attempt: int = 1, at: int = 0, **changes: Any) -> FailedAttempt:
    """A scoring that timed out `at` seconds past noon and failed its job."""
    return FailedAttempt(
        **{
            "job_id": job_id,
            "mode": ZERO_SHOT,
            "subject": str(subject),
            "stage": "score",
            "attempt": attempt,
            "type": "schemas.errors.LLMTimeoutError",
            "message": "LLM request timed out after 600s",
            "category": "scoring_llm_timeout",
            "evidence_key": None,
            "ended_at": NOON + timedelta(seconds=at),
            "is_resolved": False,
            "is_final": True,
            **changes,
        }
    )


def paying(job_id: int) -> StageCalls:
    """Two calls that a job paid, and one that the ledger answered."""
    values: dict[str, Any] = dict.fromkeys(StageCalls.model_fields, 0)
    return StageCalls(
        **values | {"job_id": job_id, "stage": "score", "model": "scorer", "calls_paid": 2, "calls_reused": 1}
    )


def work(*jobs: ScoredJob | RankedQuery, stage: str) -> tuple[StageWork, ...]:
    """Each of these jobs took its number in seconds."""
    return tuple(
        StageWork(
            job_id=one.job_id,
            stage=stage,
            attempts=1,
            seconds=one.job_id,
            started_at=NOON,
            ended_at=NOON + timedelta(seconds=one.job_id),
        )
        for one in jobs
    )


def run(
    *jobs: ScoredJob,
    run_id: int = 12,
    failures: Iterable[FailedAttempt] = (),
    settings: dict[str, Any] | None = None,
    profile: str = "paper",
    request: dict[str, Any] | None = None,
) -> ScoredRun:
    """A run of these jobs, each of which took its number in seconds and paid two calls."""
    return ScoredRun(
        run_id=run_id,
        submitted_at=NOON,
        profile=profile,
        version="0.1.0",
        identity="a" * 64,
        settings_hash="b" * 64,
        request={"split": "paper-test", "limit": None, "profile_source": "option --profile"} | (request or {}),
        settings={name: SettingValue(value=value, source="option") for name, value in (settings or {}).items()},
        jobs=jobs,
        indexes=(INDEX,),
        failures=tuple(failures),
        work=work(*jobs, stage="score"),
        calls=tuple(paying(one.job_id) for one in jobs),
        telemetry=tuple(
            OutputTelemetry(
                job_id=one.job_id,
                stage="score",
                repairs=one.scores.repairs,
                reasks=tuple(one.scores.reasks),
                cut_texts=None,
            )
            for one in jobs
            if one.scores is not None
        ),
    )


def item_scores(jobs: Iterable[ScoredJob]) -> list[JobScores]:
    return [
        JobScores(
            run_id=12,
            **{name: getattr(one, name) for name in ("job_id", "mode", "participant_id", "status", "labels")},
            scores=None if one.scores is None else {item: found.score for item, found in one.scores.items.items()},
        )
        for one in jobs
    ]
