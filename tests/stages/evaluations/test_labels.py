"""A judge beside the labels of people."""

import csv
import io
from random import Random

import pytest

from schemas.values.evaluations import Check, JudgedAnswer, SupportVerdict
from schemas.values.participants import Decision
from schemas.values.scoring import Interval
from stages.evaluations.judge import split_answer
from stages.evaluations.labels import Judged, Sentence, judge_quality, label_sheet, parse_labels

ACCEPT, REJECT, UNSURE = Decision.ACCEPT, Decision.REJECT, Decision.UNSURE


def answer(job_id: int) -> Judged:
    """Two sentences that cite sources, and one that does not, which nobody judges."""
    text = "Tea is brown [S1]. I like it. Milk is white [S2]."
    split = split_answer("Which?", text, labels=["S1", "S2"], passages={"S1": "Brown.", "S2": "White."}, reference=None)
    verdicts = tuple(
        SupportVerdict(check=Check.TOGETHER, sentence=number, cited=(cited,), decision=ACCEPT)
        for number, cited in ((1, "S1"), (3, "S2"))
    )
    return job_id, split, JudgedAnswer(validator="judge", verdicts=verdicts)


def test_a_sheet_has_sentences_with_their_passages_and_no_verdict() -> None:
    text = label_sheet([answer(1), answer(2)], seed=7)

    rows = list(csv.DictReader(io.StringIO(text)))
    assert len({(row["job"], row["sentence"]) for row in rows}) == 4
    assert {(row["text"], row["passages"]) for row in rows} <= {
        ("Tea is brown.", "S1: Brown."),
        ("Milk is white.", "S2: White."),
    }
    assert "accept" not in text and {row["supported"] for row in rows} == {""}


KNOWN: dict[Sentence, Decision] = {(1, 1): ACCEPT, (1, 3): REJECT, (2, 1): UNSURE}


def test_a_labelled_sheet_is_read_and_rows_without_a_label_are_left_out() -> None:
    found = parse_labels(b"job,sentence,supported\nj1,1,yes\nj1,3,No\nj2,1,\n", file="a.csv", known=KNOWN)

    assert (found.value, found.problems) == ({(1, 1): True, (1, 3): False}, ())


@pytest.mark.parametrize(
    ("rows", "line"),
    [("j9,1,yes", 2), ("j1,2,yes", 2), ("j1,1,perhaps", 2), ("j1,1,yes\nj1,1,no", 3), ("j1,1,", None), ("x,y,yes", 2)],
)
def test_a_sheet_that_cannot_be_used_is_refused_with_its_line(rows: str, line: int | None) -> None:
    found = parse_labels(f"job,sentence,supported\n{rows}\n".encode(), file="a.csv", known=KNOWN)

    assert [problem.line for problem in found.problems] == [line]


def test_precision_and_recall_are_those_of_the_labelled_sentences() -> None:
    verdicts = {(1, number): decision for number, decision in enumerate([ACCEPT] * 4 + [REJECT] * 3 + [UNSURE], 1)}
    labels = {(1, 1): True, (1, 2): True, (1, 3): False, (1, 5): False, (1, 6): True, (1, 8): True}

    found = judge_quality(verdicts, labels)

    assert (found.labelled, found.unsure, found.unlabelled) == (5, 1, 2)
    assert (found.true_accepts, found.false_accepts, found.false_rejects, found.true_rejects) == (2, 1, 1, 1)
    assert [found.precision.value, found.recall.value] == pytest.approx([2 / 3, 2 / 3])
    assert found.judged.value == pytest.approx(4 / 7)
    # (4/7 + 1/2 - 1) / (2/3 + 1/2 - 1), by Rogan and Gladen.
    assert found.corrected is not None and found.corrected.value == pytest.approx((4 / 7 - 1 / 2) / (1 / 6))


def test_the_corrected_interval_is_that_of_the_paper() -> None:
    # Accepted and supported, rejected and supported, accepted and not, rejected and not; then those without a label.
    labelled = [(144, ACCEPT, True), (16, REJECT, True), (24, ACCEPT, False), (56, REJECT, False)]
    groups = [*labelled, (32, ACCEPT, None), (128, REJECT, None)]
    all_of_them = [(decision, label) for count, decision, label in groups for _ in range(count)]
    verdicts = {(1, number): decision for number, (decision, _) in enumerate(all_of_them)}
    labels = {(1, number): label for number, (_, label) in enumerate(all_of_them) if label is not None}
    # p = (200 + z^2/2) / (400 + z^2) of n = 400 + z^2 are accepted, q1 = 145/162 of the supported ones, and q0 = 57/82
    # of the others are rejected; t = (p + q0 - 1) / (q1 + q0 - 1), and v0, v1 are q(1 - q) / 82 and / 162.
    z = 1.959963984540054
    n, q1, q0 = 400 + z**2, 145 / 162, 57 / 82
    p, v1, v0 = (200 + z**2 / 2) / n, q1 * (1 - q1) / 162, q0 * (1 - q0) / 82
    t = (p + q0 - 1) / (q1 + q0 - 1)
    half = z * ((p * (1 - p) / n + (1 - t) ** 2 * v0 + t**2 * v1) ** 0.5) / (q1 + q0 - 1)
    middle = t + 2 * z**2 * (t * v1 - (1 - t) * v0)

    assert ends(judge_quality(verdicts, labels).corrected) == pytest.approx((middle - half, middle + half))


@pytest.mark.parametrize("labels", [{(1, 1): True}, {(1, 1): False, (1, 3): True}])
def test_nothing_is_corrected_by_labels_of_one_kind_or_for_a_judge_like_chance(labels: dict[Sentence, bool]) -> None:
    found = judge_quality(KNOWN, labels)

    assert (found.corrected, found.labels_to_halve) == (None, None)


def drawn(count: int, labelled: int, seed: int) -> tuple[dict[Sentence, Decision], dict[Sentence, bool]]:
    """Two of five sentences are supported; the judge accepts nine of ten of these, and three of ten others."""
    random = Random(seed)
    truth = {(1, number): random.random() < 0.4 for number in range(count)}
    verdicts = {key: ACCEPT if random.random() < (0.9 if is_so else 0.3) else REJECT for key, is_so in truth.items()}
    return verdicts, {key: truth[key] for key in random.sample(sorted(truth), labelled)}


def ends(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None and interval.low is not None and interval.high is not None
    return interval.low, interval.high


def test_the_labels_that_are_said_to_halve_the_interval_do() -> None:
    before = judge_quality(*drawn(20_000, 300, 1))
    assert before.labels_to_halve is not None

    after = judge_quality(*drawn(20_000, 300 + before.labels_to_halve, 1))

    widths = [high - low for low, high in map(ends, (before.corrected, after.corrected))]
    assert widths[1] / widths[0] == pytest.approx(0.5, abs=0.05)
