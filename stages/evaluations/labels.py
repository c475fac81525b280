"""How far a judge is to be trusted: its verdicts beside the labels of people, and its share corrected by them."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from random import Random
from typing import Final, NamedTuple

from schemas.values.evaluations import JudgedAnswer, JudgeQuality, SplitAnswer
from schemas.values.participants import Decision, FileProblem
from schemas.values.scoring import Interval
from stages.records import Parsed, parse_rows

COLUMNS: Final = ("job", "sentence", "supported")
_LABELS: Final = {"yes": True, "no": False, "": None}
_Z: Final = 1.959963984540054
"""The normal quantile of .975."""


Judged = tuple[int, SplitAnswer, JudgedAnswer]
"""A job, the answer that it judged, and the verdicts."""

Sentence = tuple[int, int]
"""A job, and the number of a sentence of its answer."""


def label_sheet(answers: Sequence[Judged], *, seed: int) -> str:
    """A CSV of all judged sentences in random order: what people label from the top, without the verdicts."""
    drawn = [(job_id, split, number) for job_id, split, judged in answers for number in judged.on_sources]
    Random(seed).shuffle(drawn)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["job", "sentence", "question", "text", "passages", "supported"])
    for job_id, split, number in drawn:
        sentence = split.sentences[number - 1]
        passages = [f"{label}: {text}" for label, text in split.passages.items() if label in sentence.cited]
        writer.writerow((f"j{job_id}", number, split.question, sentence.text, "\n\n".join(passages), ""))
    return text.getvalue()


def parse_labels(data: bytes, *, file: str, known: Mapping[Sentence, Decision]) -> Parsed[dict[Sentence, bool]]:
    """The labels of a sheet; rows without one are left out. A sentence that is not judged, or twice, is a problem."""
    rows, found = parse_rows(data, file=file, columns=COLUMNS)
    problems = [*found]
    labels: dict[Sentence, bool] = {}
    for line, cells in rows:
        job, number, label = (cells[name].strip().lower() for name in COLUMNS)
        sentence = (_number(job.removeprefix("j")), _number(number))
        problem = (
            ("names no sentence that the judge decided on", "take job and sentence from `ragq evaluate RUN --sheet`")
            if sentence not in known
            else ("has another label than yes, no or nothing", "write yes or no")
            if label not in _LABELS
            else ("labels a sentence again", "keep one of the rows")
            if sentence in labels
            else None
        )
        if problem is not None:
            problems.append(FileProblem(file, line, problem[0], problem[1]))
        elif (said := _LABELS[label]) is not None:
            labels[sentence] = said
    if not labels and not problems:
        problems.append(FileProblem(file, None, "has no label", "write yes or no"))
    return Parsed(labels, tuple(problems))


def judge_quality(verdicts: Mapping[Sentence, Decision], labels: Mapping[Sentence, bool]) -> JudgeQuality:
    """Precision and recall of `accept` on the labelled sentences, and the share of supported ones, corrected. `unsure`
    decides nothing. The correction is that of Rogan and Gladen (1978), its interval that of Lee et al., arXiv
    2511.21140: it holds the uncertainty of the judged sentences and of the labels."""
    decided = {key: decision is Decision.ACCEPT for key, decision in verdicts.items() if decision != Decision.UNSURE}
    counts = Counter((decided[key], label) for key, label in labels.items() if key in decided)
    yes, no = counts[True, True] + counts[False, True], counts[True, False] + counts[False, False]
    judged = _Share(sum(decided.values()), len(decided))
    unlabelled = len(decided) - yes - no
    corrected, more = _corrected(judged, _Share(counts[True, True], yes), _Share(counts[False, False], no))
    return JudgeQuality(
        labelled=yes + no,
        unsure=len(labels) - yes - no,
        unlabelled=unlabelled,
        true_accepts=counts[True, True],
        false_accepts=counts[True, False],
        false_rejects=counts[False, True],
        true_rejects=counts[False, False],
        precision=_interval(_Share(counts[True, True], counts[True, True] + counts[True, False])),
        recall=_interval(_Share(counts[True, True], yes)),
        judged=_interval(judged),
        corrected=corrected,
        labels_to_halve=None if more is None or more > unlabelled else more,
    )


class _Share(NamedTuple):
    part: int
    of: int

    @property
    def value(self) -> float:
        return self.part / self.of

    def near_half(self, more: float) -> "tuple[float, float]":
        """The share, and of how many, with `more` observations of which half count: never 0 or 1."""
        return (self.part + more / 2) / (self.of + more), self.of + more


def _corrected(judged: _Share, accepted: _Share, rejected: _Share) -> tuple[Interval | None, int | None]:
    """The corrected share, and how many labels would halve its interval, if any would. `accepted` is of the sentences
    that people call supported, `rejected` of the others. Both are None without labels of both kinds, and for a judge
    that is no better than chance."""
    if not (judged.of and accepted.of and rejected.of) or accepted.value + rejected.value <= 1:
        return None, None
    value = (judged.value + rejected.value - 1) / (accepted.value + rejected.value - 1)
    share, n = judged.near_half(_Z**2)
    sensitivity, of_yes = accepted.near_half(2)
    specificity, of_no = rejected.near_half(2)
    better = sensitivity + specificity - 1
    centre = _within((share + specificity - 1) / better)
    noise_yes = centre * sensitivity * (1 - sensitivity) / of_yes
    noise_no = (1 - centre) * specificity * (1 - specificity) / of_no
    of_judged = share * (1 - share) / n / better**2
    of_labels = ((1 - centre) * noise_no + centre * noise_yes) / better**2
    middle = centre + 2 * _Z**2 * (noise_yes - noise_no)
    goal = (of_judged + of_labels) / 4
    more = ceil((of_labels / (goal - of_judged) - 1) * (accepted.of + rejected.of)) if goal > of_judged else None
    return _around(_within(value), middle, sqrt(of_judged + of_labels)), more


def _interval(share: _Share) -> Interval:
    """The share with its Wilson interval; without observations no value."""
    if not share.of:
        return Interval(value=None, low=None, high=None, std=None, drop_rate=0.0, resamples=0)
    centre, n = share.near_half(_Z**2)
    return _around(share.value, centre, sqrt(share.value * (1 - share.value) * share.of + _Z**2 / 4) / n)


def _around(value: float, centre: float, std: float) -> Interval:
    low, high = _within(centre - _Z * std), _within(centre + _Z * std)
    return Interval(value=value, low=low, high=high, std=std, drop_rate=0.0, resamples=0)


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1
