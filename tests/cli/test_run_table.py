"""A run as a table in the terminal."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from cli.drawing import Trimmed
from cli.run_table import ERRORS_ALIKE, LISTED_JOBS, run_details, run_table
from schemas.chains import stages_of
from schemas.statuses import JobStatus, StageStatus
from schemas.values.failures import StageFailure
from stages.reports.run_words import CIRCULAR_NOTICE
from store.runs.overviews import RunOverview
from store.runs.run_view import JobView, RunView
from store.runs.stage_runs import StageRun

NOON = datetime(2026, 1, 9, 12, tzinfo=UTC)
ERROR = StageFailure(stage="score", attempt=1, type="E", message="it broke", category="unknown")


def job(job_id: int, status: JobStatus, error: StageFailure | None = None) -> JobView:
    return JobView(
        job_id=job_id,
        mode="chunk_scores",
        subject=str(job_id),
        status=status,
        note=None,
        stages=[],
        kept={},
        rejected={},
        llm_paid=0,
        llm_reused=0,
        error=error,
    )


def in_mode(mode: str, job_id: int) -> JobView:
    """A job whose every stage is done."""
    stages = [
        StageRun(stage=name, status=StageStatus.DONE, attempts=1, seconds=1.0)
        for name in stages_of("participant", mode)
    ]
    return replace(job(job_id, JobStatus.SUCCEEDED), mode=mode, stages=stages)


def shown(
    jobs: list[JobView],
    *,
    kind: str = "index",
    request: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    profile: str = "paper",
    cut_texts: int = 0,
    width: int = 160,
) -> str:
    overview = RunOverview(
        id=12,
        kind=kind,
        profile=profile,
        identity="i",
        request=request or {},
        version="0",
        settings_hash="s",
        created_at=NOON,
        finished_at=None,
        jobs=len(jobs),
        states={},
    )
    screen = Console(file=io.StringIO(), width=width)
    view = RunView(overview=overview, read_at=NOON, jobs=jobs, settings=settings or {}, cut_texts=cut_texts)
    screen.print(Trimmed(run_table(view)), Trimmed(run_details(view)))
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_of_thousands_of_index_jobs_those_that_failed_are_listed_first() -> None:
    waiting = [job(number, JobStatus.WAITING) for number in range(1, 2001)]
    done = [job(number, JobStatus.SUCCEEDED) for number in range(2001, 2501)]

    text = shown([*waiting, *done, job(3000, JobStatus.FAILED, ERROR)])

    listed = [line.split()[0] for line in text.splitlines() if "chunk_scores" in line]
    assert listed == ["j3000", *(f"j{number}" for number in range(1, LISTED_JOBS))]
    assert f"and {2501 - LISTED_JOBS} more; --json has all of them" in text
    assert "j3000 score attempt 1: it broke (unknown)" in text
    assert "`ragq inspect JOB STAGE` shows the details; `ragq retry r12` continues from the failed stage." in text


def test_of_jobs_that_fail_alike_the_first_errors_are_listed() -> None:
    alike = [job(number, JobStatus.FAILED, ERROR) for number in range(1, 6)]
    other = replace(ERROR, category="scoring_llm_timeout", message="too late")

    lines = shown([*alike, job(6, JobStatus.FAILED, other)], kind="participant").splitlines()

    assert [line for line in lines if "attempt 1" in line] == [
        *(f"j{number} score attempt 1: it broke (unknown)" for number in range(1, ERRORS_ALIKE + 1)),
        "j6 score attempt 1: too late (scoring_llm_timeout)",
    ]
    assert "and other jobs at score (unknown): `ragq failures r12` lists all" in lines


def test_the_jobs_of_an_index_run_are_listed_when_all_have_succeeded() -> None:
    text = shown([job(number, JobStatus.SUCCEEDED) for number in (1, 2)])

    assert [line.split()[0] for line in text.splitlines() if "chunk_scores" in line] == ["j1", "j2"]
    assert "more; --json" not in text


@pytest.mark.parametrize("modes", [("zero_shot", "few_shot"), ("few_shot", "zero_shot")])
def test_the_stages_of_a_run_in_two_modes_are_in_the_order_of_the_longer_chain(modes: tuple[str, str]) -> None:
    text = shown([in_mode(mode, number) for number, mode in enumerate(modes, start=1)], kind="participant")
    narrow = shown([in_mode(mode, 1) for mode in modes], kind="participant", width=80)

    order = ["extract", "embed", "retrieve", "rerank", "validate", "assemble", "score"]
    assert next(line.split() for line in text.splitlines() if line.startswith("job"))[4:11] == order
    assert f"stages: {', '.join(order)}" in narrow


def test_a_narrow_terminal_has_a_mark_per_stage_and_the_name_of_the_one_that_failed() -> None:
    failed = replace(
        in_mode("few_shot", 1),
        stages=[
            StageRun(stage=name, status=StageStatus(status), attempts=1, seconds=1.0)
            for name, status in {"extract": "done", "embed": "done", "retrieve": "failed", "rerank": "waiting"}.items()
        ],
        kept={"Sleep": 2, "Tired": 1},
        rejected={"Sleep": 3},
        llm_paid=4,
        llm_reused=2,
    )

    lines = shown([failed], kind="participant", width=70).splitlines()

    assert lines[1].split() == ["job", "subject", "mode", "status", "stages", "calls", "seconds"]
    assert lines[2].split() == ["j1", "1", "few_shot", "succeeded", "●●✗·", "retrieve", "6", "4.0"]


def test_every_job_of_another_run_is_listed() -> None:
    text = shown([job(number, JobStatus.SUCCEEDED) for number in range(1, 101)], kind="participant")

    assert sum(line.startswith("j") for line in text.splitlines()) == 101


@pytest.mark.parametrize(
    ("recorded", "is_noted"), [({"is_circular": True}, True), ({"is_circular": False}, False), (None, False)]
)
def test_scores_of_the_assessing_model_are_noted_in_the_head(recorded: dict[str, Any] | None, is_noted: bool) -> None:
    request = {} if recorded is None else {"chunk_scores": recorded}

    assert (CIRCULAR_NOTICE in shown([], kind="participant", request=request)) is is_noted


def test_texts_that_the_embedder_cut_are_counted_in_the_head() -> None:
    assert "cut at the length that the embedder reads: 7 texts" in shown([], cut_texts=7)
    assert "cut at" not in shown([])


def test_references_that_were_left_out_are_listed_in_the_head() -> None:
    text = shown([], kind="participant", request={"left_out_references": [304, 313]})

    assert "The reference index lacks participant 304, 313." in text


def test_the_head_of_a_run_of_queries_names_corpus_preset_and_changed_values() -> None:
    settings = {
        "retrieval.fusion": {"value": "zscore", "source": "preset Wide"},
        "retrieval.lexical": {"value": "bm25", "source": "default"},
        "reranking.ranker": {"value": "cross-encoder", "source": "option"},
    }

    text = shown([], kind="query", request={"corpus": "library", "preset": "Wide"}, settings=settings)

    lines = [line.split() for line in text.splitlines()]
    assert ["corpus", "library", "preset", "Wide"] in lines
    assert ["reranking.ranker", "cross-encoder", "option"] in lines
    assert ("zscore" in text, "bm25" in text) == (False, False)


def test_the_head_counts_the_settings_that_differ_from_the_profile_and_the_details_list_them() -> None:
    settings = {
        "EMBEDDING_TOP_K_REFERENCES": {"value": 5, "source": "environment"},
        "EMBEDDING_REFERENCE_SCORE_SOURCE": {"value": "chunk", "source": "file"},
        "CONSISTENCY_ENABLED": {"value": True, "source": "profile"},
        "EMBEDDING_DIMENSION": {"value": 4096, "source": "default"},
    }

    text = shown([], kind="participant", settings=settings, profile="validated")

    assert text.splitlines()[1] == "1 setting differs from profile validated: EMBEDDING_TOP_K_REFERENCES=5"
    assert [line.split() for line in text.splitlines()[4:]] == [
        ["changed", "setting", "value", "profile", "validated", "from"],
        ["EMBEDDING_TOP_K_REFERENCES", "5", "2", "environment"],
    ]


@pytest.mark.parametrize("kind", ["tags", "index"])
def test_a_run_about_a_vocabulary_names_it_and_no_model_that_has_no_part_in_it(kind: str) -> None:
    text = shown([], kind=kind, request={"vocabulary": "wardrobe", "profile_source": "chosen"}, profile="demo")

    assert ("vocabulary wardrobe" in text, "135M" in text) == (True, False)


@pytest.mark.parametrize(("kind", "is_noted"), [("participant", True), ("query", True), ("index", False)])
def test_runs_of_the_tiny_model_are_marked(kind: str, is_noted: bool) -> None:
    assert ("135M" in shown([], kind=kind, profile="demo")) == is_noted


def test_what_stages_wait_for_and_why_jobs_are_paused_is_listed_once_for_each_reason() -> None:
    until = [NOON.replace(second=second) for second in (40, 5)]
    waiting = [
        replace(
            job(number, JobStatus.WAITING),
            stages=[
                StageRun(
                    stage="score",
                    status=StageStatus.READY,
                    attempts=0,
                    seconds=None,
                    waits_until=at,
                    waits_for="a refusal of http://gpu/v1",
                )
            ],
        )
        for number, at in enumerate(until, start=1)
    ]
    paused = [replace(job(number, JobStatus.PAUSED), note="r12 has used 5 calls") for number in (3, 4, 5)]

    table = shown([*waiting, *paused])

    assert "2 stages due at 12:00:05 UTC or later, after a refusal of http://gpu/v1." in table
    assert "3 jobs paused: r12 has used 5 calls" in table
