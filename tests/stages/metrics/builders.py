"""Short ways to write scored participants."""

import numpy as np

from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ItemScore, Subject
from stages.metrics.scores import Cohort, cohort_of


def subject(participant_id: int, scores: str, truth: str, confidences: str = "") -> Subject:
    """Eight digits each; `-` is N/A. A confidence is the number of quotes. Missing items are N/A, 0 in truth."""
    counts = confidences.ljust(8, "0")
    items = {
        item: ItemScore(score=None if score == "-" else int(score), evidence_count=int(count))
        for item, score, count in zip(PHQ8Item, scores.ljust(8, "-"), counts, strict=True)
    }
    true_items = {item: int(score) for item, score in zip(PHQ8Item, truth.ljust(8, "0"), strict=True)}
    return Subject(participant_id=participant_id, items=items, truth=true_items)


def cohort(*rows: tuple[str, ...]) -> Cohort:
    """Participants 1, 2, ... with scores, truth and, if given, confidences."""
    return cohort_of(subject(number, *row) for number, row in enumerate(rows, start=1))


def random_subjects(participants: int, *, seed: int, na_share: float = 0.3) -> list[Subject]:
    """Participants with about this share of their items N/A, and the last with all of them."""
    rng = np.random.default_rng(seed)
    subjects = []
    for number in range(participants):
        digits, truth, counts = ("".join(map(str, rng.integers(0, 4, 8))) for _ in range(3))
        scores = "".join(
            "-" if chance < na_share else digit for digit, chance in zip(digits, rng.random(8), strict=True)
        )
        subjects.append(subject(300 + number, "-" * 8 if number == participants - 1 else scores, truth, counts))
    return subjects
