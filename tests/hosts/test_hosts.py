"""Workers, database and broker on hosts of their own, with ragq's own time constants: `make hosts-test`, as root.

Each situation lasts longer than a lease. Nothing may be lost or doubled, and work must continue by itself.
"""

import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from schemas.chains import QUEUES
from stack.parts import worker_command
from stack.supervision import kill_tree
from store import migrate
from tests import run_folder
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import UNCHECKED, BreakableInstallation, embedded_by
from tests.acceptance.small_data_set import TEST
from tests.chaos.invariants import NEXT_OUTPUT, violations
from tests.embedded import PostgresServer, ValkeyServer
from tests.eventually import eventually
from tests.hosts import network
from tests.hosts.network import Network, address
from tests.scripted_ollama import ScriptedOllama

pytestmark = [
    pytest.mark.long,
    pytest.mark.servers,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(network.why_unusable() is not None, reason=str(network.why_unusable())),
]

WORKERS = ("worker1", "worker2")
#: A lease is 6 s.
LASTS_S = 10.0
RUNS = 12
#: Latency of one way, so that an answer takes twice as long.
DELAY_S, LOSS = 0.025, 0.01

ARE_DONE = "SELECT bool_and(status = 'succeeded') FROM job WHERE run_id = ANY($1::bigint[])"
INTERRUPTED = "SELECT count(*) FROM stage_attempt WHERE outcome = 'interrupted'"


#: Which hosts cannot reach each other.
CUTS: dict[str, list[tuple[str, str]]] = {
    "nothing is cut": [],
    "a worker from the broker": [("worker1", "broker")],
    "a worker from the database": [("worker1", "database")],
    "a worker from both": [("worker1", "database"), ("worker1", "broker")],
    "the broker from all": [(host, "broker") for host in (*WORKERS, "here")],
    "the database from all": [(host, "database") for host in (*WORKERS, "here")],
}


class RemotePostgres(PostgresServer):
    @property
    def url(self) -> str:
        return super().url.replace("127.0.0.1", address("database"))

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        super().prepare(taken=taken)
        access = self.cluster / "pg_hba.conf"
        access.write_text(access.read_text() + "host all all 10.77.0.0/16 scram-sha-256\n")

    def command(self) -> list[str]:
        return [*super().command(), "-c", "listen_addresses=*"]


class RemoteValkey(ValkeyServer):
    @property
    def url(self) -> str:
        return super().url.replace("127.0.0.1", address("broker"))

    def command(self) -> list[str]:
        return [*super().command(), "--bind", "0.0.0.0"]


class Cluster:
    def __init__(self, net: Network, installation: BreakableInstallation) -> None:
        self.network = net
        self.installation = installation
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self.deaths = 0

    def start_workers(self) -> None:
        """Those that do not run, as a supervisor would."""
        for host in WORKERS:
            if host in self._workers and self._workers[host].poll() is None:
                continue
            self.deaths += host in self._workers
            command = ["ip", "netns", "exec", self.network.namespace(host), sys.executable]
            with (self.installation.folder / f"{host}.log").open("ab") as log:
                self._workers[host] = subprocess.Popen(
                    [*command, *worker_command(host, QUEUES, 8)[1:]],
                    env=self.installation.environment,
                    cwd=self.installation.folder,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def end(self) -> None:
        for worker in self._workers.values():
            kill_tree(worker.pid)
            worker.wait()


@pytest.fixture(scope="module")
def cluster(data_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Five hosts with an index and two workers."""
    with Network() as net, ScriptedOllama("0.0.0.0") as ollama:
        postgres, valkey = RemotePostgres(run_folder.new_folder()), RemoteValkey(run_folder.new_folder())
        with net.inside("database"):
            postgres.start()
        with net.inside("broker"):
            valkey.start()
        migrate.upgrade(postgres.url)
        settings = {"OLLAMA_HOST": address("here"), "RAGQ_MAX_INTERRUPTIONS": "100", **embedded_by(ollama.model())}
        folder = tmp_path_factory.mktemp("hosts")
        with BreakableInstallation(postgres.url, valkey.url, ollama.port, folder, settings) as installation:
            started = Cluster(net, installation)
            try:
                started.start_workers()
                installation.learn(data_directory)
                yield started
            finally:
                started.end()
                postgres.kill()
                valkey.kill()


@pytest.mark.parametrize("is_far", [False, True], ids=["near", "50 ms and 1 % loss"])
@pytest.mark.parametrize("situation", CUTS)
def test_nothing_is_lost_or_doubled(cluster: Cluster, evidence: GiveEvidence, situation: str, is_far: bool) -> None:
    installation = cluster.installation
    cluster.start_workers()
    chosen = evidence(dict.fromkeys(TEST, 3))
    interrupted = installation.value(INTERRUPTED)
    cluster.network.degrade(delay_s=DELAY_S * is_far, loss=LOSS * is_far)
    run_ids = [installation.submit(*chosen, *UNCHECKED, "--new") for _ in range(RUNS)]
    with cluster.network.partition(*CUTS[situation]):
        time.sleep(LASTS_S if CUTS[situation] else 0)
    healed = time.time()

    eventually(lambda: installation.value(ARE_DONE, run_ids), timeout_s=240)
    done_s = time.time() - healed
    next_s = installation.value(NEXT_OUTPUT, healed)
    assert violations(installation) == {}
    for run_id in (run_ids[0], run_ids[-1]):
        installation.assert_recovered(run_id, jobs=2 * len(TEST))
    report = f"| {situation} | {'50 ms, 1 %' if is_far else 'near'} | "
    report += f"{'before' if next_s is None else f'{next_s:.1f} s'} | {done_s:.1f} s | "
    report += f"{installation.value(INTERRUPTED) - interrupted} | {cluster.deaths} |"
    print("\n" + report)
