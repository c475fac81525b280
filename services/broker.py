"""The broker, as far as a service has to do with it: what is committed is due, and a worker sends it."""

import asyncio

from celery import Celery

from workers.messages import BROKER_ERRORS


async def is_broker_available(app: Celery, *, timeout_s: float) -> bool:
    """Whether the broker accepts a connection within so many seconds."""
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.to_thread(_connect, app, timeout_s)
    except BROKER_ERRORS:
        return False
    return True


def _connect(app: Celery, timeout_s: float) -> None:
    with app.connection_for_write(connect_timeout=timeout_s) as connection:
        connection.connect()
