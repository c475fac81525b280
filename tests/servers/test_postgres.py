"""Postgres of Debian, over TLS: migrations, a run, and a certificate that is not trusted."""

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from store import migrate
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import UNCHECKED, BreakableInstallation
from tests.acceptance.small_data_set import TEST
from tests.servers.certificates import Authority
from tests.servers.programs import DebianPostgres

pytestmark = [pytest.mark.long, pytest.mark.servers]


@pytest.fixture(scope="module", params=[15, 16, 17])
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianPostgres]:
    """A version of Postgres with TLS, and our own authority. The embedded one is Postgres 18."""
    with DebianPostgres(request.param, Authority(tmp_path_factory.mktemp("authority"))) as server:
        yield server


def test_migrations_and_a_run_with_an_index_over_tls(
    made: BreakableInstallation, postgres: DebianPostgres, data_directory: Path, evidence: GiveEvidence
) -> None:
    with dataclasses.replace(made, database_url=postgres.url) as installation:
        installation.do("db", "migrate")
        with installation.supervised(workers=2) as workers:
            installation.learn(data_directory)
            run_id = installation.submit(*evidence(dict.fromkeys(TEST, 3)), *UNCHECKED)
            workers.workers[0].kill()
            installation.assert_recovered(run_id, jobs=2 * len(TEST))
        assert installation.value(
            "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = current_database()"
        )
    migrate.check(postgres.url)


def test_a_certificate_of_another_authority_is_refused(
    postgres: DebianPostgres, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger = Authority(tmp_path_factory.mktemp("stranger"))
    url = postgres.url.partition("?")[0] + f"?sslmode=verify-full&sslrootcert={stranger.certificate}"
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(asyncpg.connect(url))
