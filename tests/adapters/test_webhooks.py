"""Webhooks that are sent to a real receiver on loopback."""

import asyncio
import socket
import time
from typing import Any

import pytest

from adapters import webhooks
from adapters.webhooks import NotDeliveredError, deliver
from tests.receiver import receiver


async def send(url: str, *, allow_private: bool = True) -> None:
    await deliver(url, {"webhook-id": "msg_1"}, b"{}", allow_private=allow_private)


@pytest.mark.parametrize(("status", "is_final"), [(500, False), (429, False), (302, False), (404, False), (410, True)])
async def test_no_other_status_is_a_success_and_no_redirect_is_followed(status: int, is_final: bool) -> None:
    with receiver() as found:
        found.answer = lambda: status
        with pytest.raises(NotDeliveredError, match=str(status)) as refused:
            await send(found.url)

    assert refused.value.is_final == is_final
    assert len(found.messages) == 1


@pytest.mark.parametrize("resolved", [["127.0.0.1"], ["9.9.9.9", "10.0.0.1"], ["::1"]])
async def test_a_name_of_a_private_address_is_not_asked(resolved: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in resolved]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with receiver() as found:
        url = found.url.replace("127.0.0.1", "hooks.example.org")
        with pytest.raises(NotDeliveredError, match="RAGQ_WEBHOOK_ALLOW_PRIVATE"):
            await send(url, allow_private=False)

    assert found.messages == []


async def test_a_message_arrives_once_at_the_address_that_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as found:
        port = int(found.url.rsplit(":", 1)[1].removesuffix("/hook"))

        async def getaddrinfo(host: str, *_: Any, **__: Any) -> list[Any]:
            assert host == "hooks.example.org", "asked for the name again"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(webhooks, "is_public", lambda address: address == "127.0.0.1")
        await send(found.url.replace("127.0.0.1", "hooks.example.org"), allow_private=False)

    ((headers, body),) = found.messages
    assert (body, headers["webhook-id"], headers["content-type"]) == (b"{}", "msg_1", "application/json")
    assert headers["host"] == f"hooks.example.org:{port}"


async def test_nobody_is_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        for url in (f"http://127.0.0.1:{unused.getsockname()[1]}/", "https://hooks.invalid/"):
            with pytest.raises(NotDeliveredError, match="not reached"):
                await send(url, allow_private=url.startswith("http:"))


async def test_a_receiver_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "_SECONDS", 0.2)

    def late() -> int:
        time.sleep(1)
        return 204

    with receiver() as found:
        found.answer = late
        with pytest.raises(NotDeliveredError, match="no answer"):
            await send(found.url)
