"""Builds the report of a scored run."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from schemas.errors import Refused
from schemas.values.costs import Prices
from schemas.values.differences import coverage_grid
from schemas.values.measures import Measures, RetrievalMeasures
from schemas.values.phq8 import AssessmentMode
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Experiment, Provenance, Report, RunMetadata
from schemas.values.scored_runs import ScoredRun, SettingValue
from stages.metrics.confidence import variant_named
from stages.reports.calibrated import calibrated_confidence
from stages.reports.calibration import calibration, selective_prediction
from stages.reports.failures import unresolved_counts
from stages.reports.reference_counts import reference_counts
from stages.reports.results import cohort_of_jobs, draws_of, jobs_of, modes_of, results_of
from stages.reports.score_table import baselines
from stages.reports.telemetry import telemetry
from stages.reports.timings import run_timings
from stages.reports.words import notices


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


def build_report(
    run: ScoredRun, *, measures: Measures, calibrate_on: ScoredRun | None = None, prices: Prices | None = None
) -> Report:
    """The report of a run. The order in which jobs ended, and the number of attempts, affect only timings.

    `calibrate_on` is the run that a calibrated confidence is fitted on. Raises Refused for an unknown confidence, or
    one that a run lacks the signals for.
    """
    return Report(
        run_metadata=run_metadata("participant", run),
        settings=run.settings,
        measures=measures,
        experiments=tuple(_experiment(run, mode, measures, calibrate_on) for mode in modes_of(run)),
        failures=unresolved_counts(run.failures, {job.participant_id: job.labels for job in run.jobs}),
        draws=draws_of(run.siblings),
        timings=run_timings(run, prices),
    )


def _experiment(run: ScoredRun, mode: AssessmentMode, measures: Measures, calibrate_on: ScoredRun | None) -> Experiment:
    jobs = jobs_of(run, mode)
    job_ids = {job.job_id for job in jobs}
    failed = {attempt.job_id: attempt for attempt in run.failures.failed if attempt.is_final}
    cohort = cohort_of_jobs(jobs)
    results = results_of(mode, jobs, failed, measures=measures)
    calibrated = (
        None
        if calibrate_on is None
        else calibrated_confidence(measures.confidence, on=calibrate_on, run=run, mode=mode, cohort=cohort)
    )
    variant = variant_named(measures.confidence) if calibrated is None else calibrated.variant
    return Experiment(
        provenance=_provenance(run, mode, evaluated=results.evaluated_subjects),
        results=results,
        baselines=baselines(cohort, run.request, measures=measures),
        selective_prediction=selective_prediction(cohort, variant=variant, measures=measures),
        calibration=calibration(cohort, variant=variant, measures=measures),
        calibrated=None if calibrated is None else calibrated.about,
        references=reference_counts(
            (job.ranked, job.validated, job.scores) for job in jobs if job.ranked and job.validated
        ),
        telemetry=telemetry((one for one in run.telemetry if one.job_id in job_ids), kind="participant"),
    )


def _provenance(run: ScoredRun, mode: AssessmentMode, *, evaluated: int) -> Provenance:
    jobs = jobs_of(run, mode)
    settings = {name: setting.value for name, setting in run.settings.items()}
    index_ids = {job.index_id for job in jobs}
    has_consistency = settings.get("CONSISTENCY_ENABLED", False)
    return Provenance(
        mode=mode,
        data_set=run.request.get("data_set"),
        split=run.request.get("split"),
        limit=run.request.get("limit"),
        evidence=run.request.get("evidence"),
        transcript_variants=(run.request.get("variants") or {}).get("transcripts", {}),
        quantitative_model=_scorer(settings),
        quantitative_model_digests=_distinct(
            job.scores.model_digest for job in jobs if job.scores and job.scores.model_digest
        ),
        embedding_model=settings.get("MODEL_EMBEDDING_MODEL"),
        embedding_model_digests=_distinct(job.embedding_digest for job in jobs if job.embedding_digest),
        embedding_dtypes=_distinct(job.embedding_dtype for job in jobs if job.embedding_dtype),
        llm_backend=settings.get("LLM_BACKEND"),
        embedding_backend=settings.get("EMBEDDING_BACKEND"),
        reference_indexes=tuple(index for index in run.indexes if index.id in index_ids),
        **_of_references(settings) if mode is AssessmentMode.FEW_SHOT else _NO_REFERENCES,
        rankers=_distinct(job.ranked.ranker for job in jobs if job.ranked),
        severity_inference_mode=settings.get("QUANTITATIVE_SEVERITY_INFERENCE_MODE"),
        token_signals=settings.get("RAGQ_TOKEN_SIGNALS"),
        participants_requested=len(jobs),
        participants_evaluated=evaluated,
        consistency_enabled=has_consistency,
        consistency_n_samples=settings.get("CONSISTENCY_N_SAMPLES") if has_consistency else None,
        consistency_temperature=settings.get("CONSISTENCY_TEMPERATURE") if has_consistency else None,
    )


def _of_references(settings: Mapping[str, Any]) -> dict[str, Any]:
    is_validated = settings.get("EMBEDDING_ENABLE_REFERENCE_VALIDATION")
    validator = settings.get("EMBEDDING_VALIDATION_MODEL") or settings.get("MODEL_JUDGE_MODEL")
    if settings.get("RAGQ_REFERENCE_VALIDATOR", "model") != "model":
        validator = settings["RAGQ_REFERENCE_VALIDATOR"]
    return {
        "top_k_references": settings.get("EMBEDDING_TOP_K_REFERENCES"),
        "min_reference_similarity": settings.get("EMBEDDING_MIN_REFERENCE_SIMILARITY"),
        "max_reference_chars_per_item": settings.get("EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM"),
        "item_tag_filter": settings.get("EMBEDDING_ENABLE_ITEM_TAG_FILTER"),
        "reference_score_source": settings.get("EMBEDDING_REFERENCE_SCORE_SOURCE"),
        "reference_validation": is_validated,
        "validation_model": validator if is_validated else None,
    }


def _scorer(settings: Mapping[str, Any]) -> str | None:
    by_model = settings.get("RAGQ_SCORER", "model") == "model"
    return settings.get("MODEL_QUANTITATIVE_MODEL") if by_model else settings["RAGQ_SCORER"]


_NO_REFERENCES = dict.fromkeys(_of_references({}))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


#: The measures that a run can set, and the names of its settings.
_OF_RUN: Final = {
    "prediction_mode": "PREDICTION_MODE",
    "total_min_coverage": "TOTAL_SCORE_MIN_COVERAGE",
    "binary_threshold": "BINARY_THRESHOLD",
    "coverage_grid": "RAGQ_COVERAGE_GRID",
}

_MEASURES: Final = TypeAdapter(Measures)
_RETRIEVAL_MEASURES: Final = TypeAdapter(RetrievalMeasures)


def measures_of(settings: Mapping[str, SettingValue], chosen: Mapping[str, Any]) -> Measures:
    """The measures of a run with these settings; `chosen` values win."""
    frozen = {field: settings[name] for field, name in _OF_RUN.items() if name in settings}
    values = {field: _value(field, setting) for field, setting in frozen.items()} | dict(chosen)
    sources = {field: "option" if field in chosen else _source(field, frozen.get(field)) for field in _OF_RUN}
    return _MEASURES.validate_python(values | {"sources": sources})


def retrieval_measures_of(chosen: Mapping[str, Any]) -> RetrievalMeasures:
    """The measures that were chosen for the report of a run of queries."""
    return _RETRIEVAL_MEASURES.validate_python(chosen)


def common_measures(left: ScoredRun, right: ScoredRun, chosen: Mapping[str, Any]) -> Measures:
    """The measures of a comparison. Raises Refused when the runs define a total or depression in two ways."""
    found, other = (measures_of(run.settings, chosen) for run in (left, right))
    for field in ("total_min_coverage", "binary_threshold"):
        here, there = getattr(found, field), getattr(other, field)
        if here != there:
            raise Refused(
                f"r{left.run_id} has {_OF_RUN[field]}={here:g} and r{right.run_id} {there:g}; "
                f"name the one to compare by with --{field.replace('_', '-')}."
            )
    return found


def _value(field: str, setting: SettingValue) -> Any:
    return coverage_grid(setting.value) if field == "coverage_grid" else setting.value


def _source(field: str, frozen: SettingValue | None) -> str:
    if frozen is None or frozen.source == "default":
        return "default"
    return f"{_OF_RUN[field]} of the run, {frozen.source}"
