"""The dashboard and the alert rules name metrics, labels and values that `/metrics` really has."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from api.metrics import Metrics
from schemas.statuses import AttemptOutcome, JobStatus
from store.database import Database

FOLDER: Final = Path(__file__).parents[2] / "docs" / "monitoring"
SUFFIXES: Final = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",), "gauge": ("",)}
#: What PromQL has beside names of metrics.
WORDS: Final = frozenset(
    {"sum", "max", "by", "rate", "increase", "delta", "histogram_quantile", "and", "on", "instance", "le"}
)
VALUES: Final = {
    "outcome": {outcome.value for outcome in AttemptOutcome},
    "status": {status.value for status in JobStatus} | {"5.."},
    "state": {"held", "expired"},
}
SELECTOR: Final = re.compile(r'(\w+)=~?"([^"]*)"')


def expressions() -> Iterator[str]:
    """Every expression of the dashboard and of the rules."""
    dashboard: Any = json.loads((FOLDER / "grafana.json").read_text())
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    rules: Any = yaml.safe_load((FOLDER / "alerts.yml").read_text())
    yield from (rule["expr"] for group in rules["groups"] for rule in group["rules"])


def names(expression: str) -> set[str]:
    """The names of metrics and labels in an expression, without functions, numbers and values of labels."""
    bare = re.sub(r'"[^"]*"|\[\w+\]', " ", expression)
    return set(re.findall(r"\b[a-z_][a-z0-9_]*\b", bare)) - WORDS


@pytest.fixture
async def served(database: Database) -> tuple[set[str], set[str]]:
    """The names of the samples that `/metrics` may have, and of their labels."""
    text = (await Metrics(database).text()).decode()
    families = list(text_string_to_metric_families(text))
    documented = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
    rows = re.findall(r"^\| `(ragq_\w+)` \| ([^|]*)\|", documented, re.MULTILINE)
    labels = {label for _, listed in rows for label in re.findall(r"`(\w+)`", listed)}
    samples = {f"{family.name}{suffix}" for family in families for suffix in SUFFIXES[family.type]}
    assert {name.removesuffix("_total") for name, _ in rows} == {family.name for family in families}
    return samples, labels


async def test_every_name_of_a_panel_or_rule_is_served(served: tuple[set[str], set[str]]) -> None:
    samples, labels = served

    found = {name for expression in expressions() for name in names(expression)}

    assert {name for name in found if name.startswith("ragq_")} <= samples
    assert {name for name in found if not name.startswith("ragq_")} <= labels


def test_every_value_of_a_label_exists_every_rule_has_a_remedy_and_every_panel_a_place_of_its_own() -> None:
    rules: Any = yaml.safe_load((FOLDER / "alerts.yml").read_text())
    dashboard: Any = json.loads((FOLDER / "grafana.json").read_text())
    found = [pair for expression in expressions() for pair in SELECTOR.findall(expression)]

    assert found
    assert [(label, value) for label, value in found if value not in VALUES[label]] == []
    assert all(set(rule["annotations"]) == {"summary", "remedy"} for rule in rules["groups"][0]["rules"])
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in dashboard["panels"]})


#: By alert: the series that raise it, and the time at which it is checked. They are written as promtool reads them.
RAISED: Final = {
    "RagqHasNoWorker": ('ragq_workers{instance="a"}', "0x20", "5m", {}),
    "RagqQueueStands": ('ragq_queue_oldest_seconds{stage="embed"}', "700x20", "10m", {"stage": "embed"}),
    "RagqLeasesAreNotReclaimed": ('ragq_leases{state="expired"}', "2x20", "10m", {}),
    "RagqStagesFail": (
        'ragq_stage_seconds_count{stage="embed",outcome="failed"}', "0+5x120", "90m", {"stage": "embed"}),
    "RagqStagesAreInterrupted": (
        'ragq_stage_seconds_count{stage="embed",outcome="interrupted"}', "0+1x120", "90m", {"stage": "embed"}),
    "RagqJobsArePoisoned": ('ragq_jobs{kind="query",status="poisoned"}', "0+1x120", "90m", {}),
    "RagqRequestsFail": ('ragq_http_request_seconds_count{status="500"}', "0+60x60", "30m", {}),
}  # fmt: skip
#: What a healthy stack has beside them.
QUIET: Final = (
    ('ragq_workers{instance="b"}', "0x120"),
    ('ragq_leases{state="held"}', "0x120"),
    ('ragq_http_request_seconds_count{status="200"}', "0+60x120"),
)

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool: Debian's prometheus")


def checked(*arguments: str, folder: Path) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_each_rule_is_raised_by_its_fault_and_by_nothing_else(tmp_path: Path) -> None:
    checked("check", "rules", "alerts.yml", folder=FOLDER)
    rules: Any = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == set(RAISED)
    cases = []
    for rule in rules:
        series, values, at, labels = RAISED[rule["alert"]]
        given = {name: {"series": name, "values": quiet} for name, quiet in QUIET if rule["alert"] != "RagqHasNoWorker"}
        if rule["alert"] != "RagqHasNoWorker":
            given['ragq_workers{instance="b"}']["values"] = "2x120"
        raised = {
            "exp_labels": {**rule["labels"], **labels},
            "exp_annotations": {
                name: text.replace("{{ $labels.stage }}", labels.get("stage", ""))
                for name, text in rule["annotations"].items()
            },
        }
        quiet_rules = [{"eval_time": at, "alertname": one["alert"], "exp_alerts": []} for one in rules if one != rule]
        cases.append(
            {
                "interval": "1m",
                "input_series": [*given.values(), {"series": series, "values": values}],
                "alert_rule_test": [
                    {"eval_time": at, "alertname": rule["alert"], "exp_alerts": [raised]},
                    *quiet_rules,
                ],
            }
        )
    shutil.copy(FOLDER / "alerts.yml", tmp_path)
    test = {"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(test))
    checked("test", "rules", "test.yml", folder=tmp_path)
