"""The folder of a stack: its servers' data, its logs and the file that records what runs."""

import errno
import fcntl
import hashlib
import os
import platform
import secrets
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from signal import Signals

from pydantic import Field

from schemas.errors import StackError
from schemas.values.base import Value
from schemas.values.runs import Environment


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600. A reader sees the old text or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    partial.replace(path)


def kept_password(path: Path) -> str:
    """The password kept in a file; made on the first call. It needs no quoting in a URL, a shell or an INI file."""
    if not path.exists():
        write_private(path, secrets.token_hex(24))
    return path.read_text()


def unusable(folder: Path, error: OSError) -> StackError:
    """What to say where a folder of a stack cannot be read or written."""
    return StackError(
        f"{folder} cannot be used: {os.strerror(error.errno or errno.EIO)}. Set RAGQ_HOME to a folder of your "
        "own, or DATABASE_URL and REDIS_URL to servers that you may use."
    )


# The address of a unix socket holds 104 bytes on macOS and 108 on Linux; the supervisor appends its pid while binding.
LONGEST_SOCKET_PATH = 90


class Part(Value):
    """One process to supervise. What is known of it recognises it when its supervisor is gone."""

    name: str
    command: list[str]
    port: int | None = None
    user: str | None = None
    """The user to switch to; None keeps the current one."""
    environment: dict[str, str] = Field(default_factory=dict, repr=False)
    """What is added to the supervisor's own."""
    stop_signal: Signals = Signals.SIGTERM
    stop_timeout_s: int = 30


class State(Value):
    """What `ragq up` starts: the servers in use, its own or given ones, and the parts that it supervises."""

    started: float
    """Seconds since the epoch; every process of the stack is younger."""
    servers: dict[str, str] = Field(repr=False)
    """URLs under DATABASE_URL, REDIS_URL and OLLAMA_HOST."""
    parts: dict[str, Part]
    """By name, in the order in which they start."""
    flower_url: str | None = None
    api_url: str | None = None


class Home:
    """The folder of one stack. Two stacks with different folders live side by side."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        self.logs = self.folder / "logs"
        """One log per part, rotated."""
        self.flower_password = self.folder / "flower.password"
        """Of Flower's user."""
        self.api_token = self.folder / "api.token"
        """The token of the API that `ragq up` made where the machine has other users."""
        self.supervisor_config = self.folder / "supervisord.conf"
        """Generated; it holds passwords, so it is private."""
        self.supervisor_pid = self.folder / "supervisord.pid"
        self.state_file = self.folder / "state.json"

    def log(self, part: str) -> Path:
        return self.logs / f"{part}.log"

    @property
    def supervisor_socket(self) -> Path:
        """The supervisor's socket: in the folder, or in a private temporary folder when that path is too long."""
        near = self.folder / "supervisor.sock"
        if len(os.fsencode(near)) <= LONGEST_SOCKET_PATH:
            return near
        short = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"ragq-{os.geteuid()}-{short}" / "supervisor.sock"

    def make(self) -> None:
        """Make the folders. Root's can be entered by all, so that Postgres can run as somebody else. Raises StackError
        where that is impossible, or they are somebody else's."""
        rendezvous = self.supervisor_socket.parent
        try:
            self.folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
            self.logs.mkdir(mode=0o700, exist_ok=True)
            rendezvous.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unusable(self.folder, error) from error
        if rendezvous.is_symlink() or rendezvous.stat().st_uid != os.geteuid():
            raise unusable(rendezvous, PermissionError(errno.EACCES, "not yours"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for, and hold, the right to change this stack. Raises StackError as `make` does."""
        self.make()
        try:
            lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise unusable(self.folder, error) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def is_supervised(self) -> bool:
        """A process has the pid that the supervisor left. Cheap, and therefore no proof."""
        try:
            os.kill(int(self.supervisor_pid.read_text()), 0)
        except (OSError, ValueError) as error:
            return isinstance(error, PermissionError)
        return True

    def read_state(self) -> State | None:
        """What was started here last, if it was not stopped. Raises StackError where that cannot be read."""
        try:
            return State.model_validate_json(self.state_file.read_text())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unusable(self.folder, error) from error
        except ValueError as error:
            raise StackError(
                f"{self.state_file} cannot be read ({type(error).__name__}). It was not written by this version of "
                "ragq. End the processes of that stack, remove the file and run `ragq up`."
            ) from error

    def write_state(self, state: State) -> None:
        """Record what is about to be started. The file holds passwords, so it is private."""
        write_private(self.state_file, state.model_dump_json(indent=2))


def find_home(environment: Mapping[str, str] = os.environ) -> Home:
    """`RAGQ_HOME`; unset, the user's data folder, or /var/lib/ragq for root."""
    if given := environment.get("RAGQ_HOME"):
        return Home(Path(given))
    if os.geteuid() == 0:
        return Home(Path("/var/lib/ragq"))
    from platformdirs import user_data_path

    return Home(user_data_path("ragq"))


PACKAGES = (
    "asyncpg",
    "celery",
    "gensim",
    "httpx",
    "json-repair",
    "numpy",
    "ollama",
    "pgvector",
    "pydantic",
    "rapidfuzz",
    "scikit-learn",
    "sentence-transformers",
    "sqlalchemy",
    "tokenizers",
    "torch",
    "transformers",
    "xllamacpp",
)
"""The packages that results depend on, or that are first asked for when a result differs."""


@cache
def this_environment() -> Environment:
    """The environment as it was when this was first asked for: the code that is loaded does not change after it."""
    commit, is_dirty = _commit(Path(__file__).parents[1])
    packages = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return Environment(
        ragq_version=version("ragq"),
        git_commit=commit,
        git_dirty=is_dirty,
        python=platform.python_version(),
        platform=platform.platform(),
        packages=packages,
        cpu=_cpu(),
        cores=os.cpu_count(),
        gpus=_gpus(),
    )


def _commit(folder: Path) -> tuple[str | None, bool | None]:
    """The commit of a checkout, and whether it has changes; None twice where the folder is none, or git is not there. A
    folder inside the checkout of another project, such as an installed package, has none."""
    if not (folder / ".git").exists():
        return None, None
    command = ["git", "-C", str(folder), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None, None
    commit, _, dirty = done.stdout.strip().partition("-")
    return commit, bool(dirty)


def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine() or None)


def _gpus() -> tuple[str, ...]:
    """The cards that NVIDIA's driver lists; read from files, since torch takes seconds to load."""
    models = []
    for card in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = card.read_text(encoding="utf-8").splitlines()
        models += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return tuple(models)
