"""Replies about the worker processes."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from api.rest.bodies.base import Reply
from store.runs.workers import LiveWorker


class WorkerReply(Reply):
    """A worker process with a heartbeat in the last ten seconds."""

    host: str = Field(examples=["node1"])
    pid: int = Field(examples=[4242])
    version: str = Field(examples=["0.1.0"])
    started_at: datetime = Field(examples=["2026-11-23T03:00:00Z"])
    stages: list[str] = Field(examples=[["embed", "rerank"]])
    """The stages that it takes."""


class WorkersReply(Reply):
    """The workers now, the oldest first."""

    workers: list[WorkerReply]

    @classmethod
    def of(cls, live: Sequence[LiveWorker]) -> "WorkersReply":
        """The reply."""
        return cls(
            workers=[
                WorkerReply(
                    host=one.host,
                    pid=one.pid,
                    version=one.version,
                    started_at=one.started_at,
                    stages=list(one.stages),
                )
                for one in live
            ]
        )
