"""Replies about the worker processes."""

from datetime import datetime

from pydantic import Field

from api.rest.bodies.base import Reply
from services.workers import SeenWorkers


class HangReply(Reply):
    """A computation that blocks a worker."""

    since: datetime = Field(examples=["2026-11-23T03:15:00Z"])
    seconds: float = Field(examples=[42.5])
    place: str | None = Field(examples=["stages/tags/similarity.py:41"])
    """File and line of the computation, as far as it is known."""
    stages: list[str] = Field(examples=[["j12 rerank"]])
    """What the worker holds: job and stage."""
    remedy: str = Field(examples=["`kill -9 4242` on node1 ends it now."])


class WorkerReply(Reply):
    """A worker process with a heartbeat in the last ten seconds."""

    host: str = Field(examples=["node1"])
    pid: int = Field(examples=[4242])
    version: str = Field(examples=["0.1.0"])
    started_at: datetime = Field(examples=["2026-11-23T03:00:00Z"])
    stages: list[str] = Field(examples=[["embed", "rerank"]])
    """The stages that it takes."""
    hangs: HangReply | None
    """Null while it computes."""


class WorkersReply(Reply):
    """The workers now, those that hang first."""

    workers: list[WorkerReply]

    @classmethod
    def of(cls, seen: SeenWorkers) -> "WorkersReply":
        """The reply."""
        replies = []
        for one in seen.workers:
            hang = one.hangs and HangReply(
                since=one.hangs.since,
                seconds=round(one.hangs.hung_for_s, 1),
                place=one.hangs.place,
                stages=one.hangs.stages,
                remedy=one.hangs.remedy,
            )
            replies.append(
                WorkerReply(
                    host=one.of.host,
                    pid=one.of.pid,
                    version=one.of.version,
                    started_at=one.of.started_at,
                    stages=list(one.of.stages),
                    hangs=hang,
                )
            )
        return cls(workers=replies)
