"""A worker of Celery alone, with ragq's settings of Celery: `celery -A benchmarks.celery_worker`.

No rows protect its messages, so kombu's record of unacknowledged ones does, unless TRANSPORT names ragq's transport.
"""

import os

from celery import Celery

from benchmarks.noop_chain import NOOP_STAGES
from benchmarks.stamps import stamp
from workers.app import make_worker_app

TRANSPORT = "BENCHMARK_TRANSPORT"
"""Environment variable with the transport of the worker."""
RECORDING = "benchmarks.recording_transport:Transport"

app: Celery = make_worker_app(os.environ["REDIS_URL"])
app.conf.worker_pool = "threads"
app.conf.broker_transport = os.environ.get(TRANSPORT, RECORDING)


def _define(stage: str, position: int) -> None:
    @app.task(name=f"ragq.{stage}")
    def task(*, run: int, job: int, subject: str) -> None:
        stamp(job, position)


for _position, _stage in enumerate(NOOP_STAGES):
    _define(_stage, _position)
