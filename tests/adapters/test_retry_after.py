"""Retry-After: what a server that takes no request now says of its time."""

import httpx
import pytest

from adapters.model_lists import retry_after_s
from adapters.openai import OpenAIChat
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, Message
from tests.canned import canned

CALL = ChatCall(model="m", messages=(Message(role="user", content="Is it so?"),))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": " 20 "}, 20.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "99999999999999999999"}, 3600.0),
        ({"Retry-After": "inf"}, 3600.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "tomorrow"}, None),
        ({"Retry-After": "Fri, 13 Mar 2026 10:00:42 GMT", "Date": "Fri, 13 Mar 2026 10:00:00 GMT"}, 42.0),
        ({"Retry-After": "Fri, 13 Mar 2020 10:00:42 GMT"}, 0.0),
        ({"Retry-After": "Fri, 13 Mar 9999 10:00:42 GMT"}, 3600.0),
        ({"Retry-After": "Fri, 99 Mar 2026 10:00:42 GMT"}, None),
    ],
)
def test_it_is_seconds_or_a_date_of_at_most_an_hour(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(httpx.Response(429, headers=headers)) == seconds


@pytest.mark.parametrize(("status", "header", "seconds"), [(429, "Retry-After: 7\r\n", 7.0), (503, "", None)])
async def test_the_error_of_an_openai_call_has_its_status_and_its_time(
    status: int, header: str, seconds: float | None
) -> None:
    body = '{"error": "not now"}'
    reply = f"HTTP/1.1 {status} X\r\n{header}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    async with canned(reply.encode()) as url:
        chat = OpenAIChat(url)
        with pytest.raises(LLMError) as raised:
            await chat.chat(CALL)
        await chat.close()

    assert (raised.value.status, raised.value.retry_after_s) == (status, seconds)
