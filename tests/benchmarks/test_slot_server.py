"""The scripted server of `llm-slots`, asked by ragq's own client."""

import asyncio
import time

from adapters.ollama_chat import OllamaChat
from benchmarks.llm_slots import Measured
from benchmarks.slot_server import MODEL, slot_server
from schemas.values.chat import ChatCall, Message
from schemas.values.phq8 import PHQ8Item
from stages.participants.extract_prompt import extraction_messages
from stages.participants.score_prompt import scoring_messages
from stages.participants.score_reply import parse_scores


async def test_it_answers_as_many_calls_at_a_time_as_it_has_slots() -> None:
    messages = scoring_messages("Participant: fine", "", severity_mode="strict")
    with slot_server(slots=3, call_s=0.2) as server:
        chat = OllamaChat(server.url)
        began = time.monotonic()
        replies = await asyncio.gather(*(chat.chat(ChatCall(model=MODEL, messages=messages)) for _ in range(7)))
        wall_s = time.monotonic() - began
        await chat.close()

    assert (server.calls, server.most_at_once) == (7, 3)
    assert 0.6 <= server.ended - server.began <= wall_s
    assert {
        item: answer.score for item, answer in parse_scores(replies[0].text, severity_mode="strict").answers.items()
    } == (dict.fromkeys(PHQ8Item, 1))


async def test_it_extracts_nothing() -> None:
    with slot_server(slots=1, call_s=0) as server:
        chat = OllamaChat(server.url)
        reply = await chat.chat(ChatCall(model=MODEL, messages=extraction_messages("Participant: fine")))
        other = await chat.chat(ChatCall(model=MODEL, messages=(Message(role="user", content="?"),)))
        await chat.close()

    assert reply.text == other.text == "{" + ", ".join(f'"{item.evidence_key}": []' for item in PHQ8Item) + "}"


def test_the_ratio_is_of_the_time_with_calls() -> None:
    measured = Measured(calls=32, most_at_once=16, ideal_s=2.0, calls_s=2.2, run_s=4.0, cpu_ms=40)
    assert measured.ratio == 1.1
