"""The registry of runs as CSV and JSON, with what ai-psychiatrist kept in `registry.yaml`."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from schemas.values.figures import ModeFigures
from stages.reports.run_words import notices
from store.runs.registry import RegisteredRun

COLUMNS: Final = (
    *("run_id", "timestamp", "finished_at", "kind", "profile", "version", "git_commit", "git_dirty", "identity"),
    *(
        "draw",
        "mode",
        "data_set",
        "split",
        "limit",
        "status",
        "participants",
        "evaluated",
        "mae_weighted",
        "coverage_pct",
    ),
    *("output", "notices", "name", "note"),
)


def registry_json(runs: Sequence[RegisteredRun]) -> list[dict[str, Any]]:
    """One object per run: its line of `ragq runs`, and its modes."""
    return [
        asdict(run) | {"experiments": [_experiment(run, one) for one in run.experiments], **_of_run(run)}
        for run in runs
    ]


def registry_csv(runs: Sequence[RegisteredRun]) -> str:
    """A line per run and mode; of runs without modes one line, whose last columns are empty. None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in runs:
        of_run = {
            "finished_at": None if run.finished_at is None else run.finished_at.isoformat(),
            **{
                name: getattr(run, name)
                for name in ("name", "note", "kind", "profile", "version", "git_commit", "identity")
            },
            "git_dirty": None if run.git_dirty is None else str(run.git_dirty).lower(),
            **_of_run(run),
        }
        for experiment in [_experiment(run, one) for one in run.experiments] or [{}]:
            writer.writerow(of_run | experiment)
    return text.getvalue()


def _of_run(run: RegisteredRun) -> dict[str, Any]:
    has_report = run.kind in ("participant", "query")
    return {
        "run_id": f"r{run.id}",
        "timestamp": run.created_at.isoformat(),
        "draw": run.draw,
        "notices": " ".join(notices(run.kind, run.profile, run.request)),
        "output": f"ragq report r{run.id} --json" if has_report else f"ragq show r{run.id} --json",
    }


def _experiment(run: RegisteredRun, found: ModeFigures) -> dict[str, Any]:
    coverage = found.prediction_coverage
    return {
        "mode": found.mode.value,
        "data_set": run.request.get("data_set"),
        "split": run.request.get("split"),
        "limit": run.request.get("limit"),
        "status": found.status.value,
        "participants": found.participants,
        "evaluated": found.evaluated,
        "mae_weighted": found.item_mae_weighted,
        "coverage_pct": None if coverage is None else 100 * coverage,
    }
