"""Dry runs beside the runs that follow them: jobs, model calls, tokens and seconds, on demo data."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.stack import Stack, stack
from schemas.values.estimates import Estimate
from stages.reports.numbers_in_words import NOT_AVAILABLE

PACKAGES: Final = ("ragq", "celery", "torch", "xllamacpp")
_QUESTIONS: Final = (
    "Why does black tea turn dark?",
    "How does a suspension bridge carry its load?",
    "What keeps the time in a pendulum clock?",
    "At what temperature is green tea steeped?",
)
_PHRASES: Final = ("overcoat, umbrela, red scarf", "seated man, hat", "rainy street, boots", "blue dress, smiling")


class Case(NamedTuple):
    """A submission or an import, with what an estimate of it can be made from."""

    name: str
    command: tuple[str, ...]
    part: str = ""
    """The estimate of an import that is compared, and its run: `embedding` or `estimate`."""


class Compared(NamedTuple):
    """An estimate and the run that followed it."""

    name: str
    estimate: Estimate
    jobs: int
    succeeded: int
    paid: int
    reused: int
    tokens: int
    """Of the paid calls."""
    seconds: float
    """From its submission to its last job."""

    @property
    def is_bounded(self) -> bool | None:
        """Whether the calls kept to their bounds; None without one."""
        most, to_pay = self.estimate.calls_at_most, self.estimate.calls_to_pay_at_most
        return None if most is None or to_pay is None else self.paid <= to_pay and self.paid + self.reused <= most

    @property
    def is_inside(self) -> bool | None:
        """Whether it took as long as the interval has it; None without one."""
        found = self.estimate.seconds
        return None if found is None else found.low <= self.seconds <= found.high


@click.command(short_help="Dry runs beside the runs that follow: jobs, model calls, tokens, seconds")
@click.option(
    "--participants", default=1, show_default=True, help="Of `paper-test`, in both modes; once twice as many."
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def estimates(participants: int, json_file: Path | None) -> None:
    """Estimate, then run: participants, questions, phrases, works and documents.

    Of each kind first without a past run, then with other settings, then more of it; and a fork of participants.

    Example:

    \b
        python -m benchmarks estimates
    """
    machine = this_machine(PACKAGES)
    console = Console(width=180)
    found = []
    with stack() as running:
        for case in _cases(running, participants):
            found.append(_compare(running, case))
            # On a busy machine the whole takes long: what is known so far is shown.
            click.echo(f"{case.name}: {found[-1].seconds:.1f} s", err=True)
    console.print(machine.sentence(), highlight=False)
    console.print(_table(found))
    if json_file is not None:
        rows = [one._asdict() | {"estimate": one.estimate.model_dump(mode="json")} for one in found]
        json_file.write_text(json.dumps({"machine": machine._asdict(), "runs": rows}, indent=2) + "\n")


def _cases(running: Stack, participants: int) -> Sequence[Case]:
    """The cases in their order; their data is imported."""
    people, works, wardrobe = (str(running.folder / name) for name in ("people", "works", "wardrobe"))
    running.ragq("demo-data", people)
    running.ragq("import", "participants", people)
    running.ragq("index", "references", "--split", "paper-train")
    running.ragq("demo-data", "--works", works)
    running.ragq("demo-data", "--tags", wardrobe)
    running.ragq("import", "tags", wardrobe, "--name", "wardrobe")
    running.ragq("index", "tags", "wardrobe")

    def kept(name: str, lines: Sequence[str]) -> str:
        file = running.folder / name
        file.write_text("".join(f"{line}\n" for line in lines))
        return str(file)

    asked = [json.dumps({"id": f"q{place}", "text": text}) for place, text in enumerate(_QUESTIONS, start=1)]
    score = ("submit", "--split", "paper-test", "--limit", str(participants))
    more = ("submit", "--split", "paper-test", "--limit", str(2 * participants))
    ask = ("submit", "--corpus", "first", "--queries", kept("two.jsonl", asked[:2]))
    ask_more = ("submit", "--corpus", "first", "--queries", kept("four.jsonl", asked))
    tag = ("submit", "--vocabulary", "wardrobe", "--phrases", kept("phrases.txt", _PHRASES))
    tag_more = ("submit", "--vocabulary", "wardrobe", "--phrases", kept("more.txt", _PHRASES * 10))
    tea = str(Path(works) / "tea.md")
    by_model = ("import", "works", tea, "--stages", "--set", "RAGQ_REPAIR_BY=model")
    return (
        Case("participants, the first", score),
        Case("other settings", (*score, "--set", "EMBEDDING_TOP_K_REFERENCES=1")),
        Case("twice as many", more),
        # Runs r1 and r2 made the indexes.
        Case("a fork of the first", ("fork", "r3", "--from", "score", "--set", "RAGQ_SCORE_TEXT_CHARS=200")),
        Case("works, the first", ("import", "works", works, "--corpus", "first"), "embedding"),
        Case("shorter chunks", ("import", "works", works, "--corpus", "second", "--chunk-tokens", "64"), "embedding"),
        Case("questions, the first", ask),
        Case("other settings", (*ask, "--set", "retrieval.top_n_final=4")),
        Case("twice as many", ask_more),
        Case("phrases, the first", tag),
        Case("other settings", (*tag, "--set", "PSQ_RETRIEVAL_PER_PHRASE_K=5")),
        Case("ten times as many", tag_more),
        Case("documents by rules", ("import", "works", works, "--stages", "--corpus", "third"), "estimate"),
        Case("one by a model", (*by_model, "--corpus", "fourth"), "estimate"),
        Case("the same again", (*by_model, "--corpus", "fifth"), "estimate"),
    )


def _compare(running: Stack, case: Case) -> Compared:
    dry = running.asked(*case.command, "--dry-run")
    estimate = Estimate.model_validate(dry[case.part] if case.part else dry)
    made = running.asked(*case.command)
    run = made["documents"]["run"] if case.part == "estimate" else made["run"]
    # The calls of a job that fails count too.
    with suppress(click.ClickException):
        running.ragq("watch", run)
    shown: dict[str, Any] = running.asked("show", run)
    overview, spent = shown["overview"], shown["cost"]["total"]
    began, ended = (datetime.fromisoformat(overview[name]) for name in ("created_at", "finished_at"))
    return Compared(
        name=case.name,
        estimate=estimate,
        jobs=overview["jobs"],
        succeeded=sum(job["status"] == "succeeded" for job in shown["jobs"]),
        paid=spent["calls_paid"],
        reused=spent["calls_reused"],
        tokens=spent["prompt_tokens"] + spent["reply_tokens"],
        seconds=(ended - began).total_seconds(),
    )


def _table(found: Sequence[Compared]) -> Table:
    table = Table(title="estimated / real")
    table.add_column("")
    for heading in (
        "jobs",
        "calls at most",
        "ledger / reused",
        "expected / paid",
        "within",
        "tokens",
        "seconds",
        "inside",
    ):
        table.add_column(heading, justify="right")
    for one in found:
        before, took = one.estimate, one.estimate.seconds
        tokens = None if before.prompt_tokens is None else before.prompt_tokens + (before.reply_tokens or 0)
        seconds = NOT_AVAILABLE if took is None else f"{took.value:.1f} ({took.low:.1f} to {took.high:.1f})"
        table.add_row(
            one.name,
            f"{before.jobs} / {one.jobs}" + ("" if one.succeeded == one.jobs else f", {one.succeeded} succeeded"),
            f"{_number(before.calls_at_most)} / {one.paid + one.reused}",
            f"{before.calls_held} / {one.reused}",
            f"{_number(before.calls_expected)} / {one.paid}",
            _answer(one.is_bounded),
            f"{_number(tokens)} / {one.tokens}",
            f"{seconds} / {one.seconds:.1f}",
            _answer(one.is_inside),
        )
    return table


def _number(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:.0f}"


def _answer(value: bool | None) -> str:
    return NOT_AVAILABLE if value is None else "yes" if value else "no"
