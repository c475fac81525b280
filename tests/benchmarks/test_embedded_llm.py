"""The comparison of servers: its calls, and how replies that depend on others are counted."""

import itertools
import time

from benchmarks.embedded_llm import INSTRUCTIONS, PASSAGE_CHARS, measure, passage_calls
from tests.fakes.chat import ScriptedChat


def test_calls_share_a_beginning_and_differ_in_the_passage() -> None:
    calls = list(passage_calls(4))
    passages = [call.messages[1].content for call in calls]
    assert {call.messages[0].content for call in calls} == {INSTRUCTIONS}
    assert len(set(passages)) == 4
    assert all(len(passage.strip("-")) == PASSAGE_CHARS + 2 for passage in passages)


async def test_replies_that_depend_on_the_passage_alone_count_as_unchanged() -> None:
    measured = await measure(
        ScriptedChat(lambda call: call.messages[1].content, delay_s=0.01), list(passage_calls(3)), time.process_time
    )
    assert (measured["changed_after_others"], measured["changed_beside_others"]) == (0, 0)
    assert 0 < measured["two_at_once_s"] < measured["call_s"]


async def test_a_reply_that_depends_on_the_one_before_is_counted() -> None:
    numbers = itertools.count()
    measured = await measure(
        ScriptedChat(lambda call: str(next(numbers)), delay_s=0.01), list(passage_calls(3)), time.process_time
    )
    assert measured["changed_after_others"] == 3
    assert measured["changed_beside_others"] == 3
