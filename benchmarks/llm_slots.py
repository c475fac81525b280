"""A run on a server that answers many calls at once: its time against that of the calls alone."""

import json
import time
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console

from benchmarks import cpu
from benchmarks.machine import this_machine
from benchmarks.slot_server import slot_server
from benchmarks.stack import stack

PACKAGES: Final = ("ragq", "celery", "ollama", "httpx")


class Measured(NamedTuple):
    """One run."""

    calls: int
    most_at_once: int
    ideal_s: float
    """Seconds of all calls, divided by the slots."""
    calls_s: float
    """From the arrival of the first call to the end of the last."""
    run_s: float
    """From the submission to the end that `ragq watch` sees."""
    cpu_ms: float
    """Processor time of all parts of the stack for a call: on two cores, 16 calls a second have 125 ms each."""

    @property
    def ratio(self) -> float:
        """Of the time in which there were calls to the ideal."""
        return self.calls_s / self.ideal_s


@click.command("llm-slots", short_help="A run on a server of language models with many slots")
@click.option("--slots", default=16, show_default=True, help="Calls that the server answers at a time.")
@click.option("--call-seconds", default=1.0, show_default=True, help="Seconds of a call.")
@click.option(
    "--limits/--no-limits",
    default=True,
    show_default=True,
    help="Permit as many calls at a time as the server has slots, and count calls and tokens of a minute, for all "
    "workers together; without, 20 stages at a time call as they will.",
)
@click.option("--samples", default=3, show_default=True, help="Scoring calls of each participant.")
@click.option(
    "--target", default=1.15, show_default=True, help="Exit with 1 when the calls take more than this many x."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every number there.")
def llm_slots(
    slots: int, call_seconds: float, limits: bool, samples: int, target: float, json_file: Path | None
) -> None:
    """Run extraction and scoring of all 142 demo participants, zero-shot, on a scripted server.

    \b
    Example:
        python -m benchmarks llm-slots
        python -m benchmarks llm-slots --no-limits
        python -m benchmarks llm-slots --slots 64
    """
    limited = {"RAGQ_LLM_CONCURRENCY": str(slots), "RAGQ_LLM_RPM": "100000", "RAGQ_LLM_TPM": "1000000000"}
    with (
        slot_server(slots=slots, call_s=call_seconds) as server,
        stack(OLLAMA_HOST=server.url, **(limited if limits else {})) as running,
    ):
        data = running.folder / "data"
        running.ragq("demo-data", str(data))
        running.ragq("import", "participants", str(data))
        asked = ["--profile", "paper", "--split", "train+dev", "--zero-shot-only"]
        asked += ["--set", "CONSISTENCY_ENABLED=true", "--set", f"CONSISTENCY_N_SAMPLES={samples}"]
        pids = [part["pid"] for part in running.asked("ps")]
        began, began_cpu_s = time.monotonic(), sum(map(cpu.seconds, pids))
        running.ran(*asked)
        run_s, cpu_s = time.monotonic() - began, sum(map(cpu.seconds, pids)) - began_cpu_s
    measured = Measured(
        calls=server.calls,
        most_at_once=server.most_at_once,
        ideal_s=server.calls * call_seconds / slots,
        calls_s=server.ended - server.began,
        run_s=run_s,
        cpu_ms=1000 * cpu_s / server.calls,
    )
    machine = this_machine(PACKAGES)
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(
        f"{measured.calls} calls of {call_seconds:g} s on {slots} slots, {measured.most_at_once} at once: "
        f"{measured.ideal_s:.1f} s at best, {measured.calls_s:.1f} s from the first call to the last, which is "
        f"{measured.ratio:.2f} x, {measured.run_s:.1f} s from submission to end, {measured.cpu_ms:.0f} ms of processor "
        "time a call",
        highlight=False,
    )
    if json_file is not None:
        content = {"machine": machine._asdict(), **measured._asdict(), "ratio": measured.ratio}
        json_file.write_text(json.dumps(content, indent=2) + "\n")
    if measured.ratio > target:
        raise click.ClickException(f"The calls took {measured.ratio:.2f} x their time; {target:g} x is allowed.")
