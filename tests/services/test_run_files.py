"""The file of a run: whole, equal at each export, and checked to the last byte without a database."""

import hashlib
import json
import random
import struct
import zipfile
from pathlib import Path

import pytest

from schemas.errors import Refused
from services.run_files import check_file, export_run
from store.database import Connection
from tests.services.marked_run import MARK, marked_run


@pytest.fixture
async def path(connection: Connection, tmp_path: Path) -> Path:
    """The file of a run, which is exported twice."""
    await marked_run(connection)
    for name in ("run.zip", "again.zip"):
        await export_run(connection, 1, tmp_path / name)
    return tmp_path / "run.zip"


def test_rows_are_json_lines_and_every_hash_is_recomputed(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        attempts = [json.loads(line) for line in archive.read("attempts.jsonl").splitlines()]
        vectors = [json.loads(line) for line in archive.read("vectors.jsonl").splitlines()]
        calls = archive.read("calls.jsonl")
    found = check_file(path)
    assert (found.problems, found.run, found.rows) == ((), "r1", {"attempts": 8})
    assert len(attempts) == 8
    assert [row["vector"] for row in vectors] == [[0.6, 0.8, 0]]
    assert MARK.encode() in calls
    assert path.stat().st_mode & 0o077 == 0
    assert path.read_bytes() == path.with_name("again.zip").read_bytes()


def test_changed_bytes_of_members_are_found_and_named(path: Path, tmp_path: Path) -> None:
    chosen, whole = random.Random(17), path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
    changed = tmp_path / "changed.zip"
    for info in infos * 5:
        # The content follows the header, a name and an extra field.
        name, extra = struct.unpack_from("<HH", whole, info.header_offset + 26)
        at = info.header_offset + 30 + name + extra + chosen.randrange(info.compress_size - 2)
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        assert check_file(changed).problems, (info.filename, at)


def test_what_is_changed_with_the_hashes_of_its_members_breaks_the_chain(path: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    attempts, vectors = members["attempts.jsonl"], members["vectors.jsonl"]
    changes = [
        {"attempts.jsonl": attempts.replace(b"I wake at four", b"I wake at five", 1)},
        {"attempts.jsonl": b"".join(reversed(attempts.splitlines(keepends=True)))},
        {"vectors.jsonl": vectors.replace(b"0.8", b"0.7")},
        {"run.json": members["run.json"].replace(b'"ssss', b'"tsss')},
    ]
    assert check_file(written(tmp_path / "same.zip", dict(members))).problems == ()
    for changed in changes:
        assert check_file(written(tmp_path / "changed.zip", members | changed)).problems, [*changed]


def written(path: Path, members: dict[str, bytes]) -> Path:
    """A file with the hashes of its members made anew."""
    manifest = json.loads(members.pop("manifest.json"))
    listed = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in members.items()
    }
    return archived(path, members | {"manifest.json": json.dumps(manifest | {"members": listed}).encode()})


def written_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def archived(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_hostile_files_are_problems_and_nothing_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "hostile.zip"
    for members in (
        {"manifest.json": b"[]"},
        {"manifest.json": b"[" * 100_000},
        {"manifest.json": b'{"format": "ragq-run-1", "run": "r1", "members": {}}'},
        {"manifest.json": b'{"format": "ragq-run-1", "run": "r1", "members": {"../x": {}}}'},
        {"manifest.json": b'{"format": "ragq-run-1", "run": "r1", "members": {}}', "../x": b""},
        {"run.json": b"{}"},
    ):
        assert check_file(archived(path, members)).problems
    path.write_bytes(b"no archive")
    assert check_file(path).problems
    assert written_in(tmp_path) == [path]


async def test_a_run_that_works_or_has_flaws_is_not_exported(connection: Connection, tmp_path: Path) -> None:
    await marked_run(connection)
    await connection.execute("UPDATE stage_attempt SET output = '{}' WHERE stage = 'extract'")
    with pytest.raises(Refused, match="ragq audit r1"):
        await export_run(connection, 1, tmp_path / "run.zip")
    await connection.execute("UPDATE job SET status = 'waiting'")
    with pytest.raises(Refused, match="ragq watch r1"):
        await export_run(connection, 1, tmp_path / "run.zip")
    assert not written_in(tmp_path)
