"""Builds the report of a scored run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from schemas.errors import Refused
from schemas.values.costs import Prices
from schemas.values.differences import Measures, RetrievalMeasures
from schemas.values.participants import AssessmentMode, Decision, PHQ8Item, Reference, ValidatedReferences
from schemas.values.queries import QueryRun, RankedQuery
from schemas.values.reports import Experiment, Provenance, ReferenceCounts, Report, RunMetadata, ValidatorQuality
from schemas.values.runs import ScoredJob, ScoredRun, SettingValue
from stages.metrics.bootstrap import share_interval
from stages.metrics.confidence import variant_named
from stages.participants.rerank import FILTERS, TAGS
from stages.reports.calibration import calibrated_confidence, calibration, selective_prediction
from stages.reports.costs import run_timings, telemetry
from stages.reports.results import cohort_of_jobs, draws_of, results_of, unresolved_counts
from stages.reports.score_table import baselines
from stages.reports.words import notices

REJECTED = "rejected"
"""The model that validates did not accept them."""
BEYOND_LIMIT = "validation_limit"
"""Enough references were accepted before them."""
UNSCORED = "unscored"
"""They have no score for the item, so the prompt does not show them."""

CONTEXT = "context"
"""The context of the model that scores had no room for them."""

_IN_ORDER = (*FILTERS, REJECTED, BEYOND_LIMIT, UNSCORED, CONTEXT)


def reference_counts(jobs: Iterable[ScoredJob]) -> dict[PHQ8Item, ReferenceCounts]:
    """The counts of each item over the jobs whose references are validated, the same filters for all; none without."""
    dropped = {item: Counter[str]() for item in PHQ8Item}
    shown = Counter[PHQ8Item]()
    for job in jobs:
        if job.ranked is None or job.validated is None:
            continue
        for item, kept in job.validated.items.items():
            dropped[item].update(job.ranked.dropped.get(item, {}))
            dropped[item].update(_dropped_later(job.ranked.items[item], job.validated, item))
            accepted = sum(reference.score is not None for reference in kept)
            in_prompt = accepted if job.scores is None else job.scores.items[item].retrieval.count
            dropped[item][CONTEXT] += accepted - in_prompt
            shown[item] += in_prompt
    return {
        item: ReferenceCounts(
            untagged=counts[TAGS],
            retrieved=sum(counts[name] for name in _IN_ORDER) + shown[item],
            dropped={name: counts[name] for name in _IN_ORDER},
            shown=shown[item],
        )
        for item, counts in dropped.items()
        if counts
    }


def _dropped_later(ranked: Sequence[Reference], validated: ValidatedReferences, item: PHQ8Item) -> dict[str, int]:
    kept = validated.items[item]
    rejected = sum(verdict.decision is not Decision.ACCEPT for verdict in validated.verdicts.get(item, ()))
    return {
        REJECTED: rejected,
        BEYOND_LIMIT: len(ranked) - len(kept) - rejected,
        UNSCORED: sum(reference.score is None for reference in kept),
    }


def validator_quality(
    judged: Sequence[RankedQuery], documents: Mapping[int, str], *, measures: RetrievalMeasures
) -> ValidatorQuality | None:
    """Precision and recall of `accept` over the verdicts of these queries; None without verdicts. Queries with a
    deleted chunk are excluded, as in the rankings."""
    counts = [
        _counted(query, documents)
        for query in judged
        if query.verdicts and all(verdict.chunk_id in documents for verdict in query.verdicts)
    ]
    if not counts:
        return None
    total = sum(counts, Counter())
    hits, accepted, relevant = (
        [float(count[name]) for count in counts] for name in ("hit", Decision.ACCEPT, "relevant")
    )
    return ValidatorQuality(
        queries=len(counts),
        asked=sum(total[decision] for decision in Decision),
        accepted=total[Decision.ACCEPT],
        rejected=total[Decision.REJECT],
        unsure=total[Decision.UNSURE],
        relevant=total["relevant"],
        precision=share_interval(hits, accepted, measures),
        recall=share_interval(hits, relevant, measures),
    )


def _counted(query: RankedQuery, documents: Mapping[int, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for verdict in query.verdicts or ():
        is_relevant = query.judgements.get(documents[verdict.chunk_id], 0) > 0
        counts[verdict.decision] += 1
        counts["relevant"] += is_relevant
        counts["hit"] += is_relevant and verdict.decision is Decision.ACCEPT
    return counts


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
    one that a run lacks the signals for."""
    return Report(
        run_metadata=run_metadata("participant", run),
        settings=run.settings,
        measures=measures,
        experiments=tuple(_experiment(run, mode, measures, calibrate_on) for mode in run.modes),
        failures=unresolved_counts(run.failures, {job.participant_id: job.labels for job in run.jobs}),
        draws=draws_of(run.siblings),
        timings=run_timings(run, prices),
    )


def _experiment(run: ScoredRun, mode: AssessmentMode, measures: Measures, calibrate_on: ScoredRun | None) -> Experiment:
    jobs = run.jobs_of(mode)
    job_ids = {job.job_id for job in jobs}
    failed = {attempt.job_id: attempt for attempt in run.failures if attempt.is_final}
    cohort = cohort_of_jobs(jobs)
    results = results_of(mode, jobs, failed, measures=measures)
    variant, calibrated = (
        (variant_named(measures.confidence), None)
        if calibrate_on is None
        else calibrated_confidence(measures.confidence, on=calibrate_on, run=run, mode=mode, cohort=cohort)
    )
    return Experiment(
        provenance=_provenance(run, mode, evaluated=results.evaluated_subjects),
        results=results,
        baselines=baselines(cohort, run.request, measures=measures),
        selective_prediction=selective_prediction(cohort, variant=variant, measures=measures),
        calibration=calibration(cohort, variant=variant, measures=measures),
        calibrated=calibrated,
        references=reference_counts(jobs),
        telemetry=telemetry((one for one in run.telemetry if one.job_id in job_ids), kind="participant"),
    )


def _provenance(run: ScoredRun, mode: AssessmentMode, *, evaluated: int) -> Provenance:
    jobs = run.jobs_of(mode)
    settings = {name: setting.value for name, setting in run.settings.items()}
    index_ids = {job.index_id for job in jobs}
    by_model = settings.get("RAGQ_SCORER", "model") == "model"
    has_consistency = settings.get("CONSISTENCY_ENABLED", False)
    return Provenance(
        mode=mode,
        data_set=run.request.get("data_set"),
        split=run.request.get("split"),
        limit=run.request.get("limit"),
        evidence=run.request.get("evidence"),
        transcript_variants=(run.request.get("variants") or {}).get("transcripts", {}),
        quantitative_model=settings.get("MODEL_QUANTITATIVE_MODEL") if by_model else settings["RAGQ_SCORER"],
        quantitative_model_digests=distinct(
            job.scores.model_digest for job in jobs if job.scores and job.scores.model_digest
        ),
        embedding_model=settings.get("MODEL_EMBEDDING_MODEL"),
        embedding_model_digests=distinct(job.embedding_digest for job in jobs if job.embedding_digest),
        embedding_dtypes=distinct(job.embedding_dtype for job in jobs if job.embedding_dtype),
        llm_backend=settings.get("LLM_BACKEND"),
        embedding_backend=settings.get("EMBEDDING_BACKEND"),
        reference_indexes=tuple(index for index in run.indexes if index.id in index_ids),
        rankers=distinct(job.ranked.ranker for job in jobs if job.ranked),
        participants_requested=len(jobs),
        participants_evaluated=evaluated,
        consistency_enabled=has_consistency,
        consistency_n_samples=settings.get("CONSISTENCY_N_SAMPLES") if has_consistency else None,
        consistency_temperature=settings.get("CONSISTENCY_TEMPERATURE") if has_consistency else None,
    )


def distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    """The names that there are, each once, in alphabetical order."""
    return tuple(sorted({name for name in names if name is not None}))


#: The measures that a run can set, and the names of its settings.
_OF_RUN: Final = {
    "prediction_mode": "PREDICTION_MODE",
    "total_min_coverage": "TOTAL_SCORE_MIN_COVERAGE",
    "binary_threshold": "BINARY_THRESHOLD",
    "coverage_grid": "RAGQ_COVERAGE_GRID",
}


def measures_of(settings: Mapping[str, SettingValue], chosen: Mapping[str, Any]) -> Measures:
    """The measures of a run with these settings; `chosen` values win. Raises Refused for those of runs of queries."""
    _refuse_others(Measures, chosen, of="Runs of participants")
    of_run = {field: settings[name].value for field, name in _OF_RUN.items() if name in settings}
    return Measures.model_validate({**of_run, **chosen})


def retrieval_measures_of(chosen: Mapping[str, Any]) -> RetrievalMeasures:
    """The measures that were chosen for the report of a run of queries. Raises Refused for those of participants."""
    _refuse_others(RetrievalMeasures, chosen, of="Runs of queries")
    return RetrievalMeasures.model_validate(chosen)


def _refuse_others(kind: type[Measures | RetrievalMeasures], chosen: Iterable[str], *, of: str) -> None:
    if others := [name.replace("_", " ") for name in chosen if name not in kind.model_fields]:
        raise Refused(f"{of} have no {', '.join(others)}.")


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
