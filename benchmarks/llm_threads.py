"""Tokens a second of the embedded language model: its server beside the bare engine, by threads and how they wait."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from adapters.ollama_chat import OllamaChat
from adapters.openai_chat import OpenAIChat
from benchmarks import cpu
from benchmarks.embedded_llm import PACKAGES, REPLY_TOKENS, passage_calls, started
from benchmarks.machine import this_machine
from schemas.values.chat import ChatCall
from stages.ports import ChatModel

POLICIES: Final = ("passive", "active")

Client = OllamaChat | OpenAIChat


class Contestant(NamedTuple):
    """A server, its threads, and what they do while they wait."""

    server: str
    threads: int
    policy: str


class Asked(NamedTuple):
    """What one server needed for some calls."""

    prompt_tokens: int
    reply_tokens: int
    prompt_s: float
    """Of calls for one token."""
    prompt_cpu_s: float
    reply_s: float
    """Of the rest of a reply."""
    reply_cpu_s: float

    def rates(self) -> dict[str, float]:
        """Tokens a second, and a second of processor time, which other work on the machine hardly changes."""
        return {
            "prompt_per_s": self.prompt_tokens / self.prompt_s,
            "prompt_per_cpu_s": self.prompt_tokens / max(self.prompt_cpu_s, 1e-9),
            "reply_per_s": self.reply_tokens / max(self.reply_s, 1e-9),
            "reply_per_cpu_s": self.reply_tokens / max(self.reply_cpu_s, 1e-9),
        }


@click.command(short_help="Tokens a second of the embedded language model by threads and how they wait")
@click.option("--calls", default=3, show_default=True, help="Passages to ask each server about.")
@click.option("--threads", default="1,2", show_default=True, help="Numbers of threads, with commas between.")
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Another GGUF file for the bare engine, beside the packaged one. Repeatable.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every number there.")
def llm_threads(calls: int, threads: str, weights: Sequence[Path], json_file: Path | None) -> None:
    """Start all servers, and ask them in turn, so that other work on the machine meets all alike.

    \b
    Example:
        python -m benchmarks llm-threads --calls 3 --threads 1,2
    """
    commands = {"ragq": ("stack.llm_server", "--port", "0"), "engine": ("benchmarks.llama_server", "--no-cache")}
    for file in weights:
        commands[f"engine, {file.name}"] = (*commands["engine"], "--weights", str(file))
    machine = this_machine(PACKAGES)
    servers: dict[Contestant, tuple[Client, int]] = {}
    with ExitStack() as stack:
        for count in map(int, threads.split(",")):
            for name, command in commands.items():
                for policy in POLICIES if count > 1 else POLICIES[:1]:
                    environment = {"OMP_WAIT_POLICY": policy}
                    process, url, _ = stack.enter_context(
                        started(*command, "--threads", str(count), environment=environment)
                    )
                    chat: Client = OllamaChat(url) if name == "ragq" else OpenAIChat(f"{url}/v1")
                    servers[Contestant(name, count, policy)] = (chat, process.pid)
        found = asyncio.run(_in_turn(servers, list(passage_calls(calls))))
    console = Console(width=100)
    console.print(machine.sentence(), highlight=False)
    console.print(_table(found))
    if json_file is not None:
        content = [{**contestant._asdict(), **rates} for contestant, rates in found.items()]
        json_file.write_text(json.dumps({"machine": machine._asdict(), "found": content}, indent=2) + "\n")


async def _in_turn(
    servers: dict[Contestant, tuple[Client, int]], calls: Sequence[ChatCall]
) -> dict[Contestant, dict[str, float]]:
    found: dict[Contestant, list[Asked]] = {contestant: [] for contestant in servers}
    for chat, _ in servers.values():
        await chat.chat(calls[0].model_copy(update={"max_tokens": 1}))
    for call in calls:
        for contestant, (chat, pid) in servers.items():
            found[contestant].append(await _ask(chat, call, pid))
    for chat, _ in servers.values():
        await chat.close()
    return {contestant: summed(asked).rates() for contestant, asked in found.items()}


async def _ask(chat: ChatModel, call: ChatCall, pid: int) -> Asked:
    before_s = cpu.seconds(pid)
    short = await chat.chat(call.model_copy(update={"max_tokens": 1}))
    between_s = cpu.seconds(pid)
    whole = await chat.chat(call.model_copy(update={"max_tokens": REPLY_TOKENS}))
    prompt_cpu_s, whole_cpu_s = between_s - before_s, cpu.seconds(pid) - between_s
    return Asked(
        prompt_tokens=short.prompt_tokens or 0,
        reply_tokens=(whole.reply_tokens or 1) - 1,
        prompt_s=short.seconds,
        prompt_cpu_s=prompt_cpu_s,
        reply_s=whole.seconds - short.seconds,
        reply_cpu_s=whole_cpu_s - prompt_cpu_s,
    )


def summed(asked: Sequence[Asked]) -> Asked:
    """All calls together, so that long ones weigh more."""
    return Asked(*(sum(values) for values in zip(*asked, strict=True)))


def _table(found: dict[Contestant, dict[str, float]]) -> Table:
    table = Table(title="tokens a second, and a second of processor time", title_justify="left")
    for heading in ("server", "threads", "wait", "prompt", "prompt/cpu", "reply", "reply/cpu"):
        table.add_column(heading, justify="left" if heading in ("server", "wait") else "right")
    for contestant, rates in found.items():
        table.add_row(
            contestant.server,
            str(contestant.threads),
            contestant.policy,
            *(f"{rates[name]:.0f}" for name in ("prompt_per_s", "prompt_per_cpu_s", "reply_per_s", "reply_per_cpu_s")),
        )
    return table
