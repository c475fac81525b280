"""A worker of Celery alone, with ragq's settings of Celery: `python -m benchmarks.celery_worker worker`.

No rows protect its messages, so kombu's record of unacknowledged ones does, which ragq's own transport leaves out.
"""

import os
import sys

from celery import Celery
from kombu.transport import redis as kombu_redis

from benchmarks.common import NOOP_STAGES
from benchmarks.stamps import stamp
from workers import broker
from workers.app import make_worker_app


class Channel(broker.Channel):
    """Keeps a copy of each message in the broker until it is acknowledged."""

    ack_emulation = True
    do_restore = True


class Transport(kombu_redis.Transport):
    """Named in `broker_transport`."""

    Channel = Channel


app: Celery = make_worker_app(os.environ["REDIS_URL"])
app.conf.worker_pool = "threads"
app.conf.broker_transport = "benchmarks.celery_worker:Transport"


def _define(stage: str, position: int) -> None:
    @app.task(name=f"ragq.{stage}")
    def task(*, run: int, job: int, subject: str) -> None:
        stamp(job, position)


for _position, _stage in enumerate(NOOP_STAGES):
    _define(_stage, _position)


if __name__ == "__main__":
    app.worker_main(sys.argv[1:])
