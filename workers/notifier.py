"""Sends the messages of runs that have finished or are paused, from their rows, until they are accepted or given up."""

import asyncio
import json
import random
import time
from typing import Final

import structlog

from adapters.webhooks import NotDeliveredError, deliver
from schemas.settings.process import ProcessSettings
from stages.webhooks import signed_headers, wait_s
from store.database import DATABASE_ERRORS, Database
from store.runs import notifications
from store.runs.notifications import DueMessage

log = structlog.get_logger(__name__)

_EVERY_S: Final = 2.0
_AT_ONCE: Final = 8


class Notifier:
    """Looks for messages that are due, and sends them. Every worker may: a message is claimed."""

    def __init__(self, database: Database, settings: ProcessSettings) -> None:
        self._database = database
        self._key = settings.webhook_key
        self._allow_private = settings.ragq_webhook_allow_private

    async def run(self) -> None:
        """Send what is due, again and again, until cancelled."""
        while True:
            try:
                due = await self._database.once(notifications.claim, limit=_AT_ONCE)
                await asyncio.gather(*map(self._send, due))
            except DATABASE_ERRORS as error:
                log.warning("notifications_interrupted", error_type=type(error).__name__)
            await asyncio.sleep(_EVERY_S * random.uniform(0.7, 1.0))

    async def _send(self, due: DueMessage) -> None:
        body = json.dumps(due.message, separators=(",", ":")).encode()
        try:
            if self._key is None:
                raise NotDeliveredError("RAGQ_WEBHOOK_SECRET is not set for the workers")
            headers = signed_headers(self._key, due.message_id, int(time.time()), body)
            await deliver(due.url, headers, body, allow_private=self._allow_private)
        except NotDeliveredError as error:
            wait = None if error.is_final else wait_s(due.attempts)
            # Up to a tenth longer, so that messages that failed together do not come together again.
            again_in_s = None if wait is None else wait * random.uniform(1, 1.1)
            log.warning("notification_failed", run_id=due.run_id, attempt=due.attempts, is_given_up=wait is None)
            await self._database.once(notifications.failed, due, str(error), again_in_s=again_in_s)
        else:
            log.info("notification_sent", run_id=due.run_id, attempt=due.attempts)
            await self._database.once(notifications.sent, due)
