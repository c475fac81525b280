"""The tables and the numbers of a comparison of two runs."""

from collections.abc import Iterable, Iterator

from cli.paper.table import PaperTable, noticed, with_interval
from schemas.values.differences import Difference
from schemas.values.retrieval_reports import RetrievalDifference
from stages.reports.numbers_in_words import number
from stages.reports.report_numbers import PaperNumber
from stages.reports.words import origin_words


def difference_tables(found: Iterable[Difference]) -> list[PaperTable]:
    """One table per pair of modes: both values and the difference, a row per metric."""
    return [_table(one) for one in found]


def difference_numbers(found: Iterable[Difference]) -> Iterator[PaperNumber]:
    """Every difference of the tables."""
    for one in found:
        for name, delta in one.deltas.items():
            yield PaperNumber(
                f"{one.right.run_id} - {one.left.run_id}",
                f"{one.right.mode} - {one.left.mode}",
                name,
                None,
                None,
                delta.delta,
                delta.participants,
                tuple(f"{side}: {notice}" for side, notice in _notices(one)),
                tuple(_origins(one)),
            )


def retrieval_difference_tables(found: RetrievalDifference) -> list[PaperTable]:
    """One table per ranking that both runs have."""
    return [
        PaperTable(
            f"Difference of {found.right} from {found.left} in ranking {ranking}",
            ("Measure", found.left, found.right, "Difference", "Queries"),
            tuple(
                (name, number(one.left, 4), number(one.right, 4), with_interval(one.delta, 4), str(one.queries))
                for name, one in deltas.items()
            ),
            ("In brackets: 95 % percentile intervals over paired resamples of queries.",),
        )
        for ranking, deltas in found.deltas.items()
    ]


def retrieval_difference_numbers(found: RetrievalDifference) -> Iterator[PaperNumber]:
    """Every difference of the tables."""
    for ranking, deltas in found.deltas.items():
        for name, one in deltas.items():
            run = f"{found.right} - {found.left}"
            yield PaperNumber(run, ranking.value, name, None, None, one.delta, one.queries, ())


def _table(found: Difference) -> PaperTable:
    left, right = _names(found)
    rows = (
        (name, number(delta.left), number(delta.right), with_interval(delta.delta), str(delta.participants))
        for name, delta in found.deltas.items()
    )
    return PaperTable(
        f"Difference of {right} from {left}",
        ("Metric", left, right, "Difference", "Participants"),
        tuple(rows),
        (
            "Over the participants that both scored. In brackets: 95 % percentile intervals over paired resamples of "
            f"participants. Confidence {found.confidence}.",
            *noticed(f"{side}: {notice}" for side, notice in _notices(found)),
            *_origins(found),
        ),
    )


def _names(found: Difference) -> tuple[str, str]:
    return f"{found.left.run_id} {found.left.mode}", f"{found.right.run_id} {found.right.mode}"


def _origins(found: Difference) -> Iterator[str]:
    for side in (found.left, found.right):
        for words in origin_words(side.origin):
            yield f"{side.run_id}: {words}"


def _notices(found: Difference) -> Iterator[tuple[str, str]]:
    for side in (found.left, found.right):
        for notice in side.notices:
            yield f"{side.run_id} {side.mode}", notice
