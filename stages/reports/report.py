"""The report of a scored run: its numbers, and for readers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from schemas.errors import Refused
from schemas.settings.profiles import changed_in_words, changed_settings
from schemas.values.costs import Prices
from schemas.values.differences import Measures, RetrievalMeasures
from schemas.values.participants import AssessmentMode, Decision, PHQ8Item, Reference, ValidatedReferences
from schemas.values.queries import QueryRun
from schemas.values.reports import Experiment, Provenance, ReferenceCounts, Report, RunMetadata, StageTelemetry
from schemas.values.runs import ScoredJob, ScoredRun, SettingValue
from schemas.values.scoring import ModeDraws
from stages.metrics.confidence import variant_named
from stages.participants.rerank import FILTERS, TAGS
from stages.reports.calibration import calibrated_confidence, calibration, selective_prediction
from stages.reports.costs import cost_words, run_timings, telemetry
from stages.reports.results import cohort_of_jobs, draws_of, results_of, unresolved_counts
from stages.reports.score_table import baseline_remarks, baselines, by_name
from stages.reports.tables import Cell, Figure, Remark, Sheet, Table, by_column
from stages.reports.words import (
    counted,
    counts_in_words,
    duration,
    interval_words,
    notices,
    number,
    origin_words,
    percent,
    split_in_words,
)

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


_TOTALS = {"MAE": "total_mae", "RMSE": "total_rmse", "Pearson r": "total_pearson_r"}
_TOTALS |= {"severity band": "severity_accuracy"}
_BINARY = {
    "accuracy": "binary_accuracy",
    "precision": "binary_precision",
    "recall": "binary_recall",
    "F1": "binary_f1",
    "AUROC": "binary_auroc",
}


def report_sheet(report: Report) -> Sheet:
    """Errors of each mode beside the baselines, of each item, selective prediction, and what went wrong."""
    run, measures = report.run_metadata, report.measures
    settings = {name: one.model_dump() for name, one in report.settings.items()}
    changed = changed_settings(run.profile, settings, kind="participant")
    models = dict.fromkeys(one.results.model for one in report.experiments if one.results.model)
    scored_by = f"model {', '.join(models)}" if models else "nothing scored"
    indexes = dict.fromkeys(one.in_words for of in report.experiments for one in of.provenance.reference_indexes)
    results = {one.results.mode.value: _metrics(one) for one in report.experiments}
    has_confidences = any(one.selective_prediction.by_confidence for one in report.experiments)
    return Sheet(
        title=run.run_id,
        head=f"{split_in_words(vars(report.experiments[0].provenance))}, profile {run.profile}, {scored_by}, "
        f"ragq {run.ragq_version}",
        facts=(
            *(f"references of index {words}" for words in indexes),
            f"confidence {measures.confidence}, loss {measures.loss}, {interval_words(report)}",
            f"prediction mode {measures.prediction_mode}, a total from {percent(measures.total_min_coverage)} % of the "
            f"items, depressed from a total of {measures.binary_threshold}",
            *([changed_in_words(changed, profile=run.profile, run=run.run_id)] if changed else []),
        ),
        notices=run.notices,
        parts=(
            by_column("Results", "metric", results, is_for_papers=True),
            *map(Remark, (*_exclusions(report), *baseline_remarks(report))),
            *_predictions(report),
            _items(report),
            *((_risks(report), _confidences(report)) if has_confidences else ()),
            *_calibrated(report),
            *map(_draws, report.draws),
            *_references(report),
            *telemetry_tables({one.results.mode: one.telemetry for one in report.experiments}),
            *failure_tables(report.failures.by_category),
            _times(report),
        ),
        cost=tuple(cost_words(report.timings.cost)),
        origin=tuple(origin_words(run.origin)),
    )


def failure_tables(by_category: Mapping[str, int]) -> list[Table]:
    """Unresolved failures by category; no table without any."""
    return [Table("Unresolved failures", ("category", "count"), tuple(by_category.items()))] if by_category else []


def telemetry_tables(by_mode: Mapping[str, Mapping[str, StageTelemetry]]) -> list[Table]:
    """How the outputs that count were obtained, by stage and mode; no table without a stage that parses or embeds."""
    rows = tuple(
        (
            *(stage, mode, found.outputs),
            *(counts_in_words(counts) or "none" for counts in (found.repairs, found.reasks)),
            "" if found.cut_texts is None else found.cut_texts,
        )
        for mode, telemetry in by_mode.items()
        for stage, found in telemetry.items()
    )
    columns, texts = ("stage", "mode", "outputs", "repairs", "asked again", "cut texts"), ("mode", "repairs")
    return [Table("Repaired and repeated replies", columns, rows, texts=(*texts, "asked again"))] if rows else []


def _metrics(experiment: Experiment) -> dict[str, Cell]:
    results, selective = experiment.results, experiment.selective_prediction
    found: dict[str, Cell] = {
        "participants": results.total_subjects,
        "evaluated participants": results.evaluated_subjects,
        "coverage %": Figure(results.intervals["prediction_coverage"], is_share=True),
        "MAE weighted": Figure(results.intervals["item_mae_weighted"]),
        "MAE by item": Figure(results.intervals["item_mae_by_item"]),
        "MAE by subject": Figure(results.intervals["item_mae_by_subject"]),
    }
    for name, one in by_name(experiment.baselines).items():
        found[f"MAE of the {name}"] = Figure(one.item_mae_weighted)
        found[f"less that of the {name}"] = Figure(one.difference, is_difference=True)
    return found | {
        "Cmax %": Figure(selective.cmax, is_share=True),
        "AURC": Figure(selective.chosen.aurc),
        "AUGRC": Figure(selective.chosen.augrc),
    }


def _times(report: Report) -> Table:
    rows = tuple(
        (
            *(mode.value, duration(one.total_duration_seconds), duration(one.spent.seconds)),
            *(one.spent.attempts, one.spent.calls_paid, one.spent.calls_reused),
        )
        for mode, one in report.timings.modes.items()
    )
    columns = ("mode", "start to end", "busy", "attempts", "model calls paid", "model calls reused")
    return Table("Time and calls", columns, rows)


def _exclusions(report: Report) -> Iterator[str]:
    """Which participants count in no mean error, and which scores are medians, a line per mode with any of each."""
    for experiment in report.experiments:
        results = experiment.results
        reasons = {
            "failed": results.failed_subjects,
            "unfinished": results.unfinished_subjects,
            "without ground truth": results.excluded_no_ground_truth,
            "without any scored item": results.excluded_no_evidence,
        }
        if left_out := counts_in_words(reasons):
            yield f"{results.mode}: {left_out} (in no mean error)."
        if medians := {item: found.medians for item, found in results.per_item.items() if found.medians}:
            of_items = ", ".join(f"{item} {count}" for item, count in medians.items())
            yield (
                f"{results.mode}: {counted(sum(medians.values()), 'score')} without evidence, each the median of the "
                f"reference index ({of_items})."
            )


def _predictions(report: Report) -> Iterator[Table]:
    """Totals, and depressed or not, where any is predicted; a paper has the one that the prediction mode names."""
    measures = report.measures
    depressed = f"Depressed or not: a total of {measures.binary_threshold} or more"
    for mode, caption, metrics in (("total", "Totals", _TOTALS), ("binary", depressed, _BINARY)):
        columns: dict[str, dict[str, Cell]] = {}
        predicted = 0
        for one in report.experiments:
            found = one.results.total_metrics if mode == "total" else one.results.binary_metrics
            predicted += found.predicted
            figures = {name: Figure(one.results.intervals[key]) for name, key in metrics.items()}
            columns[one.results.mode.value] = {"participants": found.predicted, **figures}
        is_chosen = measures.prediction_mode == mode
        if predicted or is_chosen:
            yield by_column(caption, "metric", columns, is_for_papers=is_chosen)


def _items(report: Report) -> Table:
    columns: dict[str, dict[str, Cell]] = {}
    for one in report.experiments:
        mode, per_item = one.results.mode.value, one.results.per_item
        columns[mode] = {item: Figure(found.mae_interval) for item, found in per_item.items()}
        columns[f"{mode} n"] = {item: found.count for item, found in per_item.items()}
        columns[f"{mode} N/A"] = {item: found.na_count for item, found in per_item.items()}
        for name, baseline in zip(("median's", "mode's"), by_name(one.baselines).values(), strict=False):
            columns[f"{mode} {name}"] = {item: Figure(found.value) for item, found in baseline.per_item.items()}
    notes = ("n: participants with a score for the item.",)
    return by_column("Mean absolute error per item", "item", columns, notes=notes, is_for_papers=True)


def _risks(report: Report) -> Table:
    columns = {
        one.results.mode.value: {
            name: Figure(at.risk) for name, at in one.selective_prediction.chosen.risk_at_coverage.items()
        }
        for one in report.experiments
    }
    notes = ("Risk: mean loss of the most confident items, at the first step that reaches the coverage.",)
    return by_column("Selective risk", "coverage", columns, notes=notes, is_for_papers=True)


def _confidences(report: Report) -> Table:
    columns = {
        f"{one.results.mode} {area.upper()}": {
            name: Figure(of[area]) for name, of in one.selective_prediction.by_confidence.items()
        }
        for one in report.experiments
        for area in ("aurc", "augrc")
    }
    chosen = (report.measures.confidence,)
    return by_column("Confidences", "confidence", columns, notes=tuple(_signals(report)), chosen=chosen)


def _signals(report: Report) -> Iterator[str]:
    reasons: dict[str, dict[str, None]] = {}
    for one in report.experiments:
        selective, mode = one.selective_prediction, one.results.mode
        signals = ", ".join(f"{signal} {count}" for signal, count in selective.signals.items())
        yield f"{mode}: {selective.predicted} of {selective.population} items have a score. With a signal: {signals}."
        for name, reason in selective.unavailable.items():
            reasons.setdefault(reason, {})[name] = None
    yield from (f"Not {', '.join(names)}: {reason}" for reason, names in reasons.items())


def _calibrated(report: Report) -> Iterator[Table]:
    """How the chosen confidence was calibrated, and its errors before and after."""
    rows = []
    for one in report.experiments:
        if (found := one.calibrated) is not None:
            parameters = ", ".join(f"{name} {value:.4g}" for name, value in found.parameters.items())
            on = f"{found.fitted_on} {found.split or ''}".rstrip()
            sides = (found.before, found.after)
            errors = (
                " -> ".join(number(None if side is None else side[name]) for side in sides)
                for name in ("ece", "brier", "log_loss")
            )
            rows.append((one.results.mode.value, on, found.participants, found.items, parameters, *errors))
    if rows:
        columns = ("mode", "on", "participants", "scores", "parameters", "ECE", "Brier", "log loss")
        note = "Calibrated on the scores of other participants. Errors here, before and after it."
        yield Table("Calibration", columns, tuple(rows), (note,), texts=("on", "parameters"))


def _draws(found: ModeDraws) -> Table:
    """The same work in other draws, and how far they are apart."""
    coverages, maes = found.prediction_coverage, found.item_mae_weighted
    rows: list[tuple[Any, ...]] = [
        *((str(of.draw), of.run_id, of.evaluated, of.prediction_coverage, of.item_mae_weighted) for of in found.draws),
        ("mean", "", "", coverages["mean"], maes["mean"]),
        ("standard deviation", "", "", coverages["std"], maes["std"]),
    ]
    cells = tuple((*of, Figure(coverage, is_share=True), Figure(mae)) for *of, coverage, mae in rows)
    columns = ("draw", "run", "evaluated", "coverage %", "MAE weighted")
    return Table(f"Draws, {found.mode.value}", columns, cells, texts=("run",))


def _references(report: Report) -> Iterator[Table]:
    """What each filter dropped, of each item, a table per mode with references."""
    for one in report.experiments:
        if one.references:
            counts = {
                item.value: (found.untagged, found.retrieved, *found.dropped.values(), found.shown)
                for item, found in one.references.items()
            }
            counts["all items"] = tuple(map(sum, zip(*counts.values(), strict=True)))
            filters = next(iter(one.references.values())).dropped
            yield Table(
                f"References per item and filter, {one.results.mode.value}",
                ("item", "untagged", "retrieved", *(name.replace("_", " ") for name in filters), "shown"),
                tuple((name, *numbers) for name, numbers in counts.items()),
            )
