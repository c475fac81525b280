"""The embedded language model's server beside llama.cpp's own, over the same weights."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from tempfile import NamedTemporaryFile
from typing import Any, Final, NamedTuple

import click
import psutil
from rich.console import Console
from rich.table import Table

from adapters.ollama_chat import OllamaChat
from adapters.openai_chat import OpenAIChat
from adapters.packaged import PACKAGED_LLM
from benchmarks import cpu
from benchmarks.contestants import PROJECT
from benchmarks.machine import this_machine
from schemas.values.chat import ChatCall, Message
from stack.endings import end
from stages.ports import ChatModel

PACKAGES: Final = ("ragq", "xllamacpp")
PASSAGE_CHARS: Final = 800
REPLY_TOKENS: Final = 48
INSTRUCTIONS: Final = (
    "You read one passage, which is given between two lines of dashes, and say in a few sentences what it is about. "
    "You use nothing but the passage. You do not repeat it word for word, and you do not speak of anything else."
)
OWN: Final = ("benchmarks.llama_server",)
SERVERS: Final[dict[str, tuple[str, ...]]] = {
    "ragq": ("stack.llm_server", "--port", "0"),
    "llama.cpp, no cache": (*OWN, "--no-cache"),
    "llama.cpp, cache": OWN,
    "llama.cpp, 2 slots": (*OWN, "--no-cache", "--slots", "2"),
}
"""Modules with their options, by the name that the table shows."""

Started = tuple[psutil.Process, str, float]
"""The process, its address, and the seconds until it listened."""


class ServerMeasurement(NamedTuple):
    """What was found about one server."""

    start_s: float
    idle_mb: float
    read_tokens_per_s: float
    """Of prompts alone: calls for one token."""
    call_s: float
    """One call of a passage with its reply, one call after the other."""
    call_cpu_s: float
    """Processor time of the server for such a call: other work on the machine hardly changes it."""
    two_at_once_s: float
    """The same calls, two at once: seconds divided by calls."""
    end_mb: float
    changed_after_others: int
    """Replies that differ from the first ones when the same calls come in another order, one after the other."""
    changed_beside_others: int
    """Replies that differ from the first ones when two calls run at once."""


@click.command(short_help="The embedded language model's server beside llama.cpp's own")
@click.option("--calls", default=8, show_default=True, help="Passages to ask about, each three times.")
@click.option("--threads", default=1, show_default=True, help="Cores for each server.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every number there.")
def embedded_llm(calls: int, threads: int, json_file: Path | None) -> None:
    """Start each server in turn, ask all of them the same calls at temperature 0, and compare.

    Example:

    \b
        python -m benchmarks embedded-llm --calls 8
    """
    machine = this_machine(PACKAGES)
    asked = list(passage_calls(calls))
    found = {}
    for name, command in SERVERS.items():
        with started(*command, "--threads", str(threads)) as (process, url, start_s):
            found[name] = asyncio.run(_measure(name, url, asked, process, start_s))
        click.echo(f"{name}: {found[name]}", err=True)
    console = Console(width=120)
    console.print(machine.sentence(), highlight=False)
    console.print(_table(found, calls))
    if json_file is not None:
        content = {"machine": machine._asdict(), "found": {name: one._asdict() for name, one in found.items()}}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def passage_calls(count: int) -> Iterator[ChatCall]:
    """Calls that begin alike and go on with another passage each, as those of a stage do."""
    text = "".join(work.read_text() for work in sorted((PROJECT / "demo" / "works").glob("*.md")))
    for number in range(count):
        start = number * (len(text) - PASSAGE_CHARS) // max(1, count - 1)
        passage = f"------\n{text[start : start + PASSAGE_CHARS]}\n------"
        messages = (Message(role="system", content=INSTRUCTIONS), Message(role="user", content=passage))
        yield ChatCall(model=PACKAGED_LLM, messages=messages, max_tokens=REPLY_TOKENS)


async def measure(chat: ChatModel, calls: Sequence[ChatCall], cpu_s: Callable[[], float]) -> dict[str, Any]:
    """What a client can measure, and the server's processor time by `cpu_s`; see ServerMeasurement."""

    async def ask(asked: Sequence[ChatCall]) -> tuple[list[str], float]:
        began = time.perf_counter()
        texts = [(await chat.chat(call)).text for call in asked]
        return texts, time.perf_counter() - began

    await ask([calls[0].model_copy(update={"max_tokens": 1})])
    cpu_before_s = cpu_s()
    first, alone_s = await ask(calls)
    cpu_alone_s = cpu_s() - cpu_before_s
    short = [await chat.chat(call.model_copy(update={"max_tokens": 1})) for call in calls]
    again, _ = await ask(calls[::-1])
    began = time.perf_counter()
    halves = await asyncio.gather(ask(calls[::2]), ask(calls[1::2]))
    two_s = time.perf_counter() - began
    beside = dict(zip([*range(0, len(calls), 2), *range(1, len(calls), 2)], halves[0][0] + halves[1][0], strict=True))
    return {
        "read_tokens_per_s": mean((reply.prompt_tokens or 0) / reply.seconds for reply in short),
        "call_s": alone_s / len(calls),
        "call_cpu_s": cpu_alone_s / len(calls),
        "two_at_once_s": two_s / len(calls),
        "changed_after_others": sum(before != after for before, after in zip(first, again[::-1], strict=True)),
        "changed_beside_others": sum(first[place] != text for place, text in beside.items()),
    }


async def _measure(
    name: str, url: str, calls: Sequence[ChatCall], process: psutil.Process, start_s: float
) -> ServerMeasurement:
    chat = OllamaChat(url) if name == "ragq" else OpenAIChat(f"{url}/v1")
    idle_mb = process.memory_info().rss / 1e6
    try:
        measured = await measure(chat, calls, lambda: cpu.seconds(process.pid))
    finally:
        await chat.close()
    return ServerMeasurement(start_s=start_s, idle_mb=idle_mb, end_mb=process.memory_info().rss / 1e6, **measured)


@contextmanager
def started(*arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Started]:
    """A server that has said where it listens, and the seconds until then."""
    began = time.perf_counter()
    with NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=PROJECT,
            env={**os.environ, **(environment or {})},
            stdout=log,
            stderr=log,
        )
        try:
            while (port := re.search(r"port=(\d+)|127\.0\.0\.1:(\d+)", Path(log.name).read_text())) is None:
                if process.poll() is not None:
                    raise click.ClickException(f"{arguments[0]} ended before it listened.")
                time.sleep(0.02)
            yield psutil.Process(process.pid), f"http://127.0.0.1:{port[1] or port[2]}", time.perf_counter() - began
        finally:
            end(process.pid, signal.SIGTERM)
            process.wait()


def _table(found: dict[str, ServerMeasurement], calls: int) -> Table:
    table = Table(title=f"{calls} calls of {REPLY_TOKENS} tokens at most", title_justify="left")
    for heading in (
        "server",
        "start",
        "idle",
        "at the end",
        "reads",
        "a call",
        "processor",
        "two at once",
        "changed after, beside",
    ):
        table.add_column(heading, justify="left" if heading == "server" else "right", no_wrap=heading == "server")
    for name, one in found.items():
        table.add_row(
            name,
            f"{one.start_s:.1f} s",
            f"{one.idle_mb:.0f} MB",
            f"{one.end_mb:.0f} MB",
            f"{one.read_tokens_per_s:.0f} tokens/s",
            f"{one.call_s:.2f} s",
            f"{one.call_cpu_s:.2f} s",
            f"{one.two_at_once_s:.2f} s",
            f"{one.changed_after_others}, {one.changed_beside_others}",
        )
    return table
