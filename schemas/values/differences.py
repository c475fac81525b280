"""Differences between two scored runs."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from schemas.values.base import Value
from schemas.values.runs import Option, RunOrigin
from schemas.values.scoring import Interval


class GateOutcome(StrEnum):
    """What the interval of a difference says of a condition."""

    PASSED = "passed"
    """The interval admits that the condition is not met."""
    FAILED = "failed"
    """The whole interval is beyond the margin of the condition."""
    UNDECIDED = "undecided"
    """There is no interval: too few subjects."""


class Verdict(Value):
    """One condition, decided by the paired 95 % interval."""

    condition: str = Field(examples=["mae increases"])
    of: str = Field(examples=["few_shot"])
    """The mode of participants, or the ranking of queries."""
    outcome: GateOutcome
    subjects: int = Field(examples=[41])
    """Participants or queries that both runs have."""
    delta: Interval
    """The second run minus the first."""
    seen_from: float | None = Field(examples=[0.21])
    """The smallest true difference that is found in four of five comparisons of so many subjects; None if undecided."""
    why: str = Field(examples=["difference +0.310, 95 % interval [0.120, 0.500], 41 participants."])


class ComparedMeasure(Value):
    """A measure of a run beside that of the baseline, over their common subjects."""

    subjects: int
    baseline: float | None
    value: float | None
    delta: Interval
    """value - baseline with its 95 % interval."""
    corrected: Interval
    """The same with a Bonferroni interval: with 95 % confidence all runs are in theirs, for this measure."""


class ComparedRun(Value):
    """One of the runs beside the baseline."""

    run_id: str
    mode: str | None = None
    """Of participants."""
    subjects: int
    """Those that it and the baseline finished."""
    measures: dict[str, dict[str, ComparedMeasure]]
    """By what they are of: a mode, a ranking, or `calls`. `tokens` are of a subject's calls, whoever paid."""
    failed: int
    """Jobs that did not succeed."""
    failed_alone: tuple[str, ...] = ()
    """Subjects that failed here, and not in the baseline."""
    baseline_failed_alone: tuple[str, ...] = ()
    only_here: tuple[str, ...] = ()
    """Subjects that the baseline does not have."""
    missing: tuple[str, ...] = ()
    """Subjects of the baseline that it does not have."""
    unlike_judgements: int = 0
    """Common queries with different judgements; they are in no measure."""


class Movement(Value):
    """A subject, or one item of a participant, whose value differs between the runs."""

    subject: str
    item: str | None = None
    truth: int | None = None
    values: tuple[float | None, ...]
    """In the order of the runs, the baseline first; None where there is none."""
    job_ids: tuple[int | None, ...]


class Comparison(Value):
    """Runs of one kind, and each of one mode, compared with the first of them."""

    kind: str
    mode: str | None
    """That of the baseline."""
    runs: tuple[str, ...]
    """The baseline first."""
    headline: str
    """Whose measures are shown first: a mode, or the last ranking that all runs have; empty without any."""
    confidence: str | None = None
    """By which scores of participants are ordered."""
    measured: str
    """What a movement's value is: the score of an item, or a measure of a query."""
    settings: dict[str, tuple[Any, ...]]
    """Settings that are not the same in all runs, with the value of each run."""
    notices: dict[str, tuple[str, ...]]
    """Run -> caveats about its results."""
    origins: dict[str, RunOrigin]
    compared: tuple[ComparedRun, ...]
    """The corrected intervals hold for all of them together."""
    movements: tuple[Movement, ...]
    """The largest range of values first. Subjects that a run did not finish are in none."""


def coverage_grid(text: str) -> tuple[float, ...]:
    """The coverages in ascending order, each once. Raises ValueError for anything but numbers above 0 and up to 1.

    >>> coverage_grid("0.5, 0.25,0.5")
    (0.25, 0.5)
    """
    try:
        coverages = sorted({float(part) for part in text.split(",")})
    except ValueError:
        coverages = []
    if not coverages or not all(0 < coverage <= 1 for coverage in coverages):
        raise ValueError("allowed are coverages above 0 and up to 1, separated by commas")
    return tuple(coverages)


PredictionMode = Literal["item", "total", "binary"]
"""Scores of items, totals, or depressed or not."""


def _grid(given: Any) -> Any:
    return coverage_grid(given) if isinstance(given, str) else given


_Resamples = Annotated[int, Field(ge=2, le=1_000_000)]
_Seed = Annotated[int, Field(ge=0, le=2**32 - 1), Option("--seed")]


class Measures(Value):
    """The parameters of the metrics of a report."""

    confidence: Annotated[str, Option(metavar="NAME")] = "llm"
    """What a score's confidence is, `llm` unless given; a report lists all names. secondary:A+B:average (or :product)
    joins two."""
    loss: Literal["abs_norm", "abs"] = "abs_norm"
    """The loss of an item's error: |error| / 3, unless given, or |error|."""
    bootstrap_resamples: _Resamples = 10_000
    """Times the participants, or queries, are drawn anew for an interval; 10,000 unless given."""
    bootstrap_seed: _Seed = 42
    """The same seed draws the same; 42 unless given."""
    coverage_grid: Annotated[tuple[float, ...], BeforeValidator(_grid), Option(metavar="LIST")] = (
        *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    )
    """Coverages at which the risk is shown, such as 0.1,0.25,0.5; 0.1 to 0.9, as published, unless given."""
    area_coverage: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Coverage at which truncated areas end; 0.5 unless given."""
    total_min_coverage: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the eight items that need a score for a total; TOTAL_SCORE_MIN_COVERAGE of the run unless given."""
    binary_threshold: Annotated[int, Field(ge=0, le=24)] = 10
    """The total from which a participant counts as depressed; BINARY_THRESHOLD of the run unless given."""
    prediction_mode: PredictionMode = "item"
    """Show scores of items, totals, or depressed or not first; PREDICTION_MODE of the run unless given."""


class RetrievalMeasures(Value):
    """The parameters of the measures of a report."""

    cutoff: Annotated[int, Field(ge=1, le=100)] = 10
    """Documents from the top that count, of a run of queries; 10 unless given."""
    bootstrap_resamples: _Resamples = 10_000
    bootstrap_seed: _Seed = 42
