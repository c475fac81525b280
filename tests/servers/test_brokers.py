"""A run finishes on every broker that ragq supports, whatever happens to workers and broker meanwhile."""

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import UNCHECKED, BreakableInstallation, Servers
from tests.acceptance.small_data_set import TEST
from tests.servers.certificates import Authority
from tests.servers.programs import RabbitMQ, Redis

pytestmark = [pytest.mark.long, pytest.mark.servers]

JOBS = 2 * len(TEST)

_numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["redis", "rabbitmq", "redis-tls", "rabbitmq-tls"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis | RabbitMQ]:
    kind, _, tls = request.param.partition("-")
    authority = Authority(tmp_path_factory.mktemp("authority")) if tls else None
    with (Redis if kind == "redis" else RabbitMQ)(authority) as server:
        yield server


@pytest.fixture
def installation(
    made: BreakableInstallation, broker: Redis | RabbitMQ, servers: Servers, fault_tolerance_template: str
) -> Iterator[BreakableInstallation]:
    name = f"brokers_{next(_numbers)}"
    servers.administer(f'CREATE DATABASE "{name}" TEMPLATE "{fault_tolerance_template}" STRATEGY file_copy')
    url = servers.database_url(name)
    with dataclasses.replace(made, database_url=url, redis_url=broker.url) as installation:
        yield installation


def test_a_run_outlives_workers_and_the_broker(
    installation: BreakableInstallation, broker: Redis | RabbitMQ, evidence: GiveEvidence
) -> None:
    chosen = evidence(dict.fromkeys(TEST, 3))
    with installation.supervised(workers=2) as workers:
        undisturbed = installation.submit(*chosen, *UNCHECKED)
        installation.assert_recovered(undisturbed, jobs=JOBS)

        run_ids = [installation.submit(*chosen, *UNCHECKED, "--new") for _ in range(4)]
        workers.workers[0].kill()
        broker.kill()
        # Stored, and sent when the broker is back.
        run_ids.append(installation.submit(*chosen, *UNCHECKED, "--new"))
        broker.start()
        for run_id in run_ids:
            installation.assert_recovered(run_id, jobs=JOBS)
    assert workers.deaths <= 2, installation.logs


def test_doctor_reaches_the_broker(installation: BreakableInstallation, broker: Redis | RabbitMQ) -> None:
    findings = {finding["name"]: finding for finding in installation.ragq("doctor", "--json").json}
    assert findings["broker"]["verdict"] == "ok", findings["broker"]
    assert broker.package.partition("-")[0] in findings["broker"]["found"].lower()
