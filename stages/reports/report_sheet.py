"""The report of a run of participants for readers."""

from collections.abc import Iterator, Mapping

from schemas.settings.base import value_in_words
from schemas.settings.profiles import changed_in_words, changed_settings
from schemas.values.participants import PHQ8Item
from schemas.values.reports import Experiment, Report, StageTelemetry
from schemas.values.runs import SettingValue
from schemas.values.scoring import ModeDraws
from stages.reports.costs import cost_words
from stages.reports.score_table import baseline_remarks, by_name
from stages.reports.tables import Cell, Figure, Real, Remark, Sheet, Table, by_column
from stages.reports.words import counted, counts_or_none, definitions, duration, interval_words, number, origin_words

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
    run, settings = report.run_metadata, {name: one.model_dump() for name, one in report.settings.items()}
    changed = changed_settings(run.profile, settings, kind="participant")
    models = dict.fromkeys(one.results.model for one in report.experiments if one.results.model)
    scored_by = f"model {', '.join(models)}" if models else "nothing scored"
    indexes = dict.fromkeys(one.in_words for of in report.experiments for one in of.provenance.reference_indexes)
    results = {one.results.mode.value: _metrics(one) for one in report.experiments}
    has_confidences = any(one.selective_prediction.by_confidence for one in report.experiments)
    return Sheet(
        title=run.run_id,
        head=f"{report.experiments[0].provenance.subjects}, profile {run.profile}, {scored_by}, "
        f"ragq {run.ragq_version}",
        facts=(
            *(f"references of index {words}" for words in indexes),
            f"confidence {report.measures.confidence}, loss {report.measures.loss}, {interval_words(report)}",
            definitions(report.measures),
            *([changed_in_words(changed, profile=run.profile, run=run.run_id)] if changed else []),
        ),
        notices=run.notices,
        parts=(
            by_column("Results", "metric", results, place="paper"),
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
            *_participants(report),
            settings_table(report.settings),
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
            *(stage, mode, found.outputs, counts_or_none(found.repairs), counts_or_none(found.reasks)),
            "" if found.cut_texts is None else found.cut_texts,
        )
        for mode, telemetry in by_mode.items()
        for stage, found in telemetry.items()
    )
    columns, texts = ("stage", "mode", "outputs", "repairs", "asked again", "cut texts"), ("mode", "repairs")
    return [Table("Repaired and repeated replies", columns, rows, texts=(*texts, "asked again"))] if rows else []


def settings_table(settings: Mapping[str, SettingValue]) -> Table:
    """Every setting, and where it came from."""
    return Table(
        f"All {len(settings)} settings",
        ("setting", "value", "from"),
        tuple((name, value_in_words(one.value), one.source) for name, one in settings.items()),
        texts=("value", "from"),
        place="page",
        chosen=tuple(name for name, one in settings.items() if one.source != "default"),
        is_listing=True,
    )


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
        if any(reasons.values()):
            left_out = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)
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
            yield by_column(caption, "metric", columns, place="paper" if is_chosen else "screen")


def _items(report: Report) -> Table:
    columns: dict[str, dict[str, Cell]] = {}
    for one in report.experiments:
        mode, per_item = one.results.mode.value, one.results.per_item
        columns[mode] = {item: Figure(found.mae_interval) for item, found in per_item.items()}
        columns[f"{mode} n"] = {item: found.count for item, found in per_item.items()}
        columns[f"{mode} N/A"] = {item: found.na_count for item, found in per_item.items()}
        for name, baseline in zip(("median's", "mode's"), by_name(one.baselines).values(), strict=False):
            columns[f"{mode} {name}"] = {item: Real(found.value) for item, found in baseline.per_item.items()}
    notes = ("n: participants with a score for the item.",)
    return by_column("Mean absolute error per item", "item", columns, notes=notes, place="paper")


def _risks(report: Report) -> Table:
    columns = {
        one.results.mode.value: {
            name: Figure(at.risk) for name, at in one.selective_prediction.chosen.risk_at_coverage.items()
        }
        for one in report.experiments
    }
    notes = ("Risk: mean loss of the most confident items, at the first step that reaches the coverage.",)
    return by_column("Selective risk", "coverage", columns, notes=notes, place="paper")


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
                " -> ".join(number(None if side is None else getattr(side, name)) for side in sides)
                for name in ("ece", "brier", "log_loss")
            )
            rows.append((one.results.mode.value, on, found.participants, found.items, parameters, *errors))
    if rows:
        columns = ("mode", "on", "participants", "scores", "parameters", "ECE", "Brier", "log loss")
        note = "Calibrated on the scores of other participants. Errors here, before and after it."
        yield Table("Calibration", columns, tuple(rows), (note,), texts=("on", "parameters"))


def _draws(found: ModeDraws) -> Table:
    """The same work in other draws, and how far they are apart."""
    coverage, mae = found.prediction_coverage, found.item_mae_weighted
    rows: list[tuple[Cell, ...]] = [
        (str(of.draw), of.run_id, of.evaluated, Real(of.prediction_coverage, is_share=True), Real(of.item_mae_weighted))
        for of in found.draws
    ]
    rows.append(("mean", "", "", Real(coverage.mean, is_share=True), Real(mae.mean)))
    rows.append(("standard deviation", "", "", Real(coverage.std, is_share=True), Real(mae.std)))
    columns = ("draw", "run", "evaluated", "coverage %", "MAE weighted")
    return Table(f"Draws, {found.mode.value}", columns, tuple(rows), texts=("run",))


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


def _participants(report: Report) -> Iterator[Table]:
    for one in report.experiments:
        rows: list[tuple[Cell, ...]] = []
        for subject in one.results.results:
            predicted, truth = subject.predicted_items, subject.ground_truth_items
            total = "" if subject.totals is None else f"{subject.totals.minimum}–{subject.totals.maximum}"
            rows.append(
                (
                    str(subject.participant_id),
                    *(
                        ("" if predicted is None else "N/A" if predicted[item] is None else str(predicted[item]))
                        + ("" if truth is None else f"/{truth[item]}")
                        for item in PHQ8Item
                    ),
                    *(total, "" if subject.ground_truth_total is None else subject.ground_truth_total),
                    *(Real(subject.mae_available), subject.error or ""),
                )
            )
        columns = ("participant", *PHQ8Item, "total", "truth", "MAE", "error")
        note = "Each item as score/truth."
        caption = f"Participants, {one.results.mode.value}"
        yield Table(caption, columns, tuple(rows), (note,), texts=("error",), place="page", is_listing=True)
