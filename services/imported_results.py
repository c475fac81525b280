"""Results that another program computed, stored as a run that can be reported and compared."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.values.failures import AttemptError
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.scoring import ParticipantScores
from stages.failures import FailureCategory
from stages.metrics.cohort import cohort_of
from stages.metrics.evaluation import evaluate
from stages.participants.original_results import OriginalExperiment, OriginalRun, OriginalSubject
from stages.participants.split_names import named_splits
from store.database import Connection
from store.references import interviews
from store.references.stored_labels import stored_labels
from store.runs import finished_runs
from store.runs.chain import content_hash
from store.runs.imported import IMPORTED
from store.runs.runs import NewJob, NewRun

PROGRAM = "ai-psychiatrist"

_SETTINGS = {
    "MODEL_QUANTITATIVE_MODEL": "quantitative_model",
    "MODEL_EMBEDDING_MODEL": "embedding_model",
    "LLM_BACKEND": "llm_backend",
    "EMBEDDING_BACKEND": "embedding_backend",
    "CONSISTENCY_ENABLED": "consistency_enabled",
    "CONSISTENCY_N_SAMPLES": "consistency_n_samples",
    "CONSISTENCY_TEMPERATURE": "consistency_temperature",
}
"""Settings that the provenance of an experiment names."""

_STATED = ("item_mae_weighted", "item_mae_by_item", "item_mae_by_subject", "prediction_coverage")
_ROUNDING = 1e-6
"""The file rounds to six digits."""


class ResultsFile(NamedTuple):
    """A results file that was read."""

    name: str
    sha256: str
    run: OriginalRun


class ImportedResults(NamedTuple):
    """A run of imported results."""

    run_id: int
    is_new: bool
    """False if the same file was imported before; nothing is stored then."""
    participants: dict[AssessmentMode, int]
    failed: dict[AssessmentMode, int]
    record: dict[str, Any]
    """What the run records of its origin."""


async def import_results(connection: Connection, file: ResultsFile) -> ImportedResults:
    """Store the run of a file, or find the run that was imported from it. No worker has anything to do for it.

    The ground truth is that of the file. What differs from the stored labels, or from the metrics that the file states,
    is recorded.
    """
    run = file.run
    experiments = run.experiments
    # Of several data sets that have the split, the file does not say which it is of.
    splits = named_splits(await interviews.split_addresses(connection), experiments[0].provenance.split or "")
    could_be = [split.data_set for split in splits] or list(await interviews.data_sets(connection))
    data_set = could_be[0] if len(could_be) == 1 else None
    record = {
        "program": PROGRAM,
        "file": file.name,
        "sha256": file.sha256,
        **run.run_metadata.model_dump(mode="json", exclude_none=True),
        "experiments": [_experiment(experiment) for experiment in experiments],
        "labels": await _labels(connection, run, data_set),
        "disagreements": [found for experiment in experiments for found in _disagreements(experiment)],
    }
    settings = _settings(run)
    parts = [(experiment, one) for experiment in experiments for one in experiment.results.results]
    stored = await finished_runs.store(
        connection,
        NewRun(
            kind="participant",
            profile=IMPORTED,
            settings=settings,
            settings_hash=content_hash({name: setting["value"] for name, setting in settings.items()}),
            request={
                "data_set": data_set,
                "split": experiments[0].provenance.split,
                "participants": [],
                "modes": [experiment.mode for experiment in experiments],
                "limit": None,
                "until": None,
                "evidence": None,
                "profile_source": IMPORTED,
                "imported": record,
            },
            jobs=[_job(experiment, one, file.sha256, data_set) for experiment, one in parts],
        ),
        [_outcome(experiment, one) for experiment, one in parts],
    )
    return ImportedResults(
        stored.run_id,
        stored.is_new,
        {experiment.mode: len(experiment.results.results) for experiment in experiments},
        {experiment.mode: sum(not one.success for one in experiment.results.results) for experiment in experiments},
        record,
    )


def _job(experiment: OriginalExperiment, one: OriginalSubject, sha256: str, data_set: str | None) -> NewJob:
    truth = {item.evidence_key: one.ground_truth_items[item] for item in PHQ8Item if item in one.ground_truth_items}
    inputs: dict[str, Any] = {"imported": sha256, "data_set": data_set} | ({"ground_truth": truth} if truth else {})
    return NewJob(mode=experiment.mode, subject=str(one.participant_id), inputs=inputs, stages=("score",))


def _outcome(experiment: OriginalExperiment, one: OriginalSubject) -> ParticipantScores | AttemptError:
    # The error of another program may quote a transcript or a reply: it is shown with the attempt alone.
    return one.scores(experiment.model) or AttemptError(
        "ImportedFailure",
        f"Participant {one.participant_id} failed in the run that was imported.",
        FailureCategory.UNKNOWN,
        {"error": one.error},
    )


def _settings(run: OriginalRun) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, field in _SETTINGS.items():
        values = (getattr(experiment.provenance, field) for experiment in run.experiments)
        value = next((value for value in values if value is not None), None)
        if value is not None:
            found[name] = {"value": value, "source": IMPORTED}
    return found


def _experiment(experiment: OriginalExperiment) -> dict[str, Any]:
    results = experiment.results
    return {
        "provenance": experiment.provenance.model_dump(mode="json", exclude_none=True),
        "stated": {name: getattr(results, name) for name in _STATED},
        "total_duration_seconds": results.total_duration_seconds,
    }


async def _labels(connection: Connection, run: OriginalRun, data_set: str | None) -> dict[str, list[int]]:
    """Participants whose ground truth in the file is not stored here, or is stored otherwise."""
    stored = {} if data_set is None else await stored_labels(connection, data_set)
    truths = {
        one.participant_id: one.ground_truth_items
        for experiment in run.experiments
        for one in experiment.results.results
        if one.ground_truth_items
    }
    here = {number: stored[number].items if number in stored else None for number in sorted(truths)}
    return {
        "absent": [number for number, items in here.items() if items is None],
        "other": [number for number, items in here.items() if items is not None and items != truths[number]],
    }


def _disagreements(experiment: OriginalExperiment) -> Iterator[dict[str, Any]]:
    """Metrics that the file states and its items do not give."""
    computed = evaluate(cohort_of(experiment.subjects))
    for name in _STATED:
        stated, found = getattr(experiment.results, name), getattr(computed, name)
        if stated is not None and (found is None or abs(stated - found) > _ROUNDING):
            yield {"mode": experiment.mode, "metric": name, "stated": stated, "computed": found}
