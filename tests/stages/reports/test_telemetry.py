"""Repairs, re-asks and cut texts per stage."""

from schemas.values.reports import StageTelemetry
from schemas.values.runs import OutputTelemetry
from stages.reports.costs import telemetry


def output(stage: str, *repairs: str, reasks: tuple[str, ...] = (), cut_texts: int | None = None) -> OutputTelemetry:
    return OutputTelemetry(job_id=1, stage=stage, repairs=repairs, reasks=reasks, cut_texts=cut_texts)


def test_categories_are_counted_by_stage_in_the_order_of_the_chain() -> None:
    found = telemetry(
        [
            output("score", "json_fixups_applied", reasks=("json_parse", "cut_off")),
            output("score", "json_repair_fallback", "json_fixups_applied", reasks=("json_parse",)),
            output("embed", cut_texts=3),
            output("embed", cut_texts=0),
            output("extract"),
        ],
        kind="participant",
    )

    assert list(found.items()) == [
        ("extract", StageTelemetry(outputs=1, repairs={}, reasks={}, cut_texts=None)),
        ("embed", StageTelemetry(outputs=2, repairs={}, reasks={}, cut_texts=3)),
        (
            "score",
            StageTelemetry(
                outputs=2,
                repairs={"json_fixups_applied": 2, "json_repair_fallback": 1},
                reasks={"cut_off": 1, "json_parse": 2},
                cut_texts=None,
            ),
        ),
    ]
