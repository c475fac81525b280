"""A finished run in one file, and the check of such a file without a database.

The file is a zip archive: `run.json`, the rows of each table as JSON lines, and `manifest.json` with the SHA-256 of all
of them. Two exports of a run are equal to the byte.
"""

import hashlib
import io
import json
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Final

from schemas.errors import Refused
from schemas.values.base import Value
from store.database import Connection
from store.runs import chain
from store.runs.chain import chain_flaws, has_settings_hash
from store.runs.run_view import run_origin
from store.views import run_state

FORMAT: Final = "ragq-run-1"
MANIFEST: Final = "manifest.json"
RUN: Final = "run.json"

_LONGEST_LINE: Final = 64 * 1024**2
"""Bytes of a row, or of a JSON document: a file that was made to fill the memory is refused."""
_MOST_BYTES: Final = 64 * 1024**3
"""Bytes of all members when they are unpacked."""
_MOST_PROBLEMS: Final = 50
_AT_ONCE: Final = 1000
_PART: Final = 1024**2


class RunFile(Value):
    """A file of a run that was written or checked."""

    file: str
    run: str | None
    sha256: str | None
    """Of its manifest, which has the hashes of all else: to be published, or compared with what another publishes."""
    rows: dict[str, int]
    """By table; of a file that is checked, its attempts, if it is what was written."""
    problems: tuple[str, ...] = ()
    """Everything that is wrong with it."""


Members = dict[str, dict[str, Any]]
"""What a manifest says of each member: its `sha256`, and how many `bytes` it has."""


async def export_run(connection: Connection, run_id: int, path: Path) -> RunFile:
    """Write a finished run with all its texts; the file appears whole or not at all, and its owner alone may read it.
    Raises RunMissingError, and Refused for a run that works or whose audit has flaws."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        # Times of the same run are written alike, whatever zone the server has.
        await connection.execute("SET LOCAL timezone = 'UTC'")
        if not (await run_state(connection, run_id)).is_idle:
            raise Refused(f"Run r{run_id} has not finished. `ragq watch r{run_id}` waits for it.")
        _, flaws = await chain.audit(connection, run_id)
        if flaws:
            raise Refused(
                f"The audit of r{run_id} finds flaws, so it is not exported; `ragq audit r{run_id}` lists them."
            )
        partial = path.with_name(f".{path.name}.partial")
        members: Members = {}
        try:
            with (
                os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as file,
                zipfile.ZipFile(file, "w") as archive,
            ):
                run = await connection.fetchval(chain.EXPORTED_RUN, run_id)
                origin = (await run_origin(connection, run_id)).model_dump(mode="json")
                _add(archive, members, RUN, io.BytesIO(_document(run | {"origin": origin})))
                rows = {table: await _add_table(connection, run_id, table, archive, members) for table in chain.TABLES}
                about = {"format": FORMAT, "run": f"r{run_id}", "ragq": version("ragq"), "rows": rows}
                manifest = _document(about | {"members": members})
                _add(archive, {}, MANIFEST, io.BytesIO(manifest))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return RunFile(file=str(path), run=f"r{run_id}", sha256=hashlib.sha256(manifest).hexdigest(), rows=rows)


def _add(archive: zipfile.ZipFile, members: Members, name: str, content: IO[bytes]) -> None:
    """Write a member, and what the manifest says of it."""
    info = zipfile.ZipInfo(name)  # of 1980: the hour of an export is none of its content
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    content.seek(0)
    members[name] = _described(content)
    content.seek(0)
    with archive.open(info, "w", force_zip64=True) as into:
        shutil.copyfileobj(content, into)


def _described(content: IO[bytes]) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    while part := content.read(_PART):
        digest.update(part)
        size += len(part)
    return {"sha256": digest.hexdigest(), "bytes": size}


async def _add_table(
    connection: Connection, run_id: int, table: str, archive: zipfile.ZipFile, members: Members
) -> int:
    count = 0
    with tempfile.TemporaryFile() as lines:
        async for row in connection.cursor(chain.TABLES[table], run_id, prefetch=_AT_ONCE):
            lines.write(row["line"].encode() + b"\n")
            count += 1
        if count:
            _add(archive, members, f"{table}.jsonl", lines)
    return count


def check_file(path: Path) -> RunFile:
    """Recompute every hash of a file: of its members, and of the chain of attempts. What is wrong is listed."""
    problems: list[str] = []
    name, run, rows = None, None, {}
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _read(archive, MANIFEST)
            name = hashlib.sha256(manifest).hexdigest()
            content = json.loads(manifest)
            run = str(content["run"])
            problems += _member_problems(archive, content)
            if not problems:
                problems += _flaws(archive)
                rows = {"attempts": sum(1 for _ in _rows(archive, "attempts"))}
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        problems.append(f"it cannot be read as a zip archive ({type(error).__name__})")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, struct.error) as error:
        problems.append(f"it is no run that `ragq export` wrote ({type(error).__name__})")
    return RunFile(file=str(path), run=run, sha256=name, rows=rows, problems=tuple(problems[:_MOST_PROBLEMS]))


def _member_problems(archive: zipfile.ZipFile, manifest: Mapping[str, Any]) -> Iterator[str]:
    if manifest["format"] != FORMAT:
        yield f"{MANIFEST}: it is not of the format {FORMAT}"
        return
    infos = archive.infolist()
    names = [info.filename for info in infos]
    listed = manifest["members"]
    if sum(info.file_size for info in infos) > _MOST_BYTES:
        yield f"its members have more than {_MOST_BYTES} bytes"
        return
    yield from (f"{name}: it is there twice" for name in sorted({name for name in names if names.count(name) > 1}))
    yield from (f"{name!r}: the manifest does not list it" for name in sorted({*names} - {*listed, MANIFEST}))
    yield from (f"{name!r}: it is missing" for name in sorted({*listed} - {*names}))
    for info in infos:
        if info.filename in listed:
            try:
                with archive.open(info) as member:
                    found = _described(member)
            except (zipfile.BadZipFile, zlib.error, EOFError):
                found = {}
            if found != listed[info.filename]:
                yield f"{info.filename}: it is not what was written"


def _flaws(archive: zipfile.ZipFile) -> Iterator[str]:
    """The flaws of the chain of attempts, as `ragq audit` finds them in a database."""
    run = json.loads(_read(archive, RUN))
    if not has_settings_hash(run["kind"], run["settings"], run["settings_hash"]):
        yield f"{RUN}: the settings are not those of their hash"
    yield from (f"attempts.jsonl: {flaw}" for flaw in chain_flaws(_attempts(archive), run["settings_hash"]))


def _attempts(archive: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    # In the order of attempts, as they are: no more than the vectors of one is in memory.
    vectors = _rows(archive, "vectors")
    vector = next(vectors, None)
    for row in _rows(archive, "attempts"):
        numbers = bytearray()
        while vector is not None and vector["attempt_id"] == row["id"]:
            numbers += struct.pack(f">{len(vector['vector'])}f", *vector["vector"])
            vector = next(vectors, None)
        output = None if row["output"] is None else json.dumps(row["output"])
        yield {**row, "output": output, "vectors": bytes(numbers)}


def _rows(archive: zipfile.ZipFile, table: str) -> Iterator[dict[str, Any]]:
    if f"{table}.jsonl" not in archive.namelist():
        return
    with archive.open(f"{table}.jsonl") as lines:
        while line := lines.readline(_LONGEST_LINE):
            yield json.loads(line, parse_int=_whole)


def _whole(digits: str) -> float:
    """A whole number. In a vector it may be -0, of which Python's own reading loses the sign."""
    return -0.0 if digits == "-0" else int(digits)


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        content = member.read(_LONGEST_LINE + 1)
    if len(content) > _LONGEST_LINE:
        raise ValueError(name)
    return content


def _document(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"
