"""The file of a bundle: a zip archive of a closed set of members, which has one form only.

Members are stored, not compressed by the archive; tables are gzip files inside it. So the archive can be written again
from its members, and a byte that changed between them is found too.
"""

import gzip
import hashlib
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from schemas.errors import BundleError
from schemas.values.bundles import FORMAT, TABLES

MANIFEST: Final = "manifest.json"
MANIFEST_HASH: Final = "manifest.sha256"
RUN: Final = "run.json"
BASIS: Final = "basis.json"
ORIGIN: Final = "origin.json"

LARGEST_MEMBER: Final = 2 * 1024**3
"""Bytes of one member, and of the rows in it when they are unpacked."""
LARGEST_DOCUMENT: Final = 256 * 1024**2
"""Bytes of a member that is one JSON document."""
LONGEST_ROW: Final = 64 * 1024**2
"""Bytes of one row."""

_DATE: Final = (1980, 1, 1, 0, 0, 0)
_CHUNK: Final = 1024**2


def table_member(table: str) -> str:
    """The member that has the rows of a table."""
    return f"rows/{table}.jsonl.gz"


def parquet_member(table: str) -> str:
    """The same rows for programs that read Parquet."""
    return f"parquet/{table}.parquet"


MEMBERS: Final = (
    *(RUN, BASIS, ORIGIN),
    *map(table_member, TABLES),
    *map(parquet_member, TABLES),
    *(MANIFEST, MANIFEST_HASH),
)
"""Every name that a member may have, in the order of the archive."""


class OpenedBundle:
    """A bundle whose members can be read. Nothing of it is trusted."""

    def __init__(self, path: Path) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise BundleError(f"It cannot be read as a zip archive ({type(error).__name__}).") from None
        self._path = path
        self.size = path.stat().st_size
        self.infos = {info.filename: info for info in self._archive.infolist()}

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def refusals(self) -> Iterator[str]:
        """Why the archive is no bundle, whatever is in its members: names, sizes, compression."""
        listed = self._archive.infolist()
        for info in listed:
            if info.filename not in MEMBERS:
                yield f"{info.filename!r}: no bundle has a member of this name"
            elif info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                yield f"{info.filename}: it is compressed, which members of a bundle are not"
            elif info.file_size > LARGEST_MEMBER:
                yield f"{info.filename}: it is larger than {LARGEST_MEMBER} bytes"
            elif info.flag_bits & 0x1:
                yield f"{info.filename}: it is encrypted"
        for name in sorted({info.filename for info in listed if listed.count(info) > 1}):
            yield f"{name}: it is there twice"
        if len(listed) != len(self.infos):
            yield "a member is there twice"
        for name in (MANIFEST, MANIFEST_HASH):
            if name not in self.infos:
                yield f"{name}: it is missing"

    def open(self, name: str) -> IO[bytes]:
        """The bytes of a member. Raises BundleError when its header is not that of the archive's list."""
        try:
            return self._archive.open(name)
        except (zipfile.BadZipFile, KeyError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise BundleError(f"{name} cannot be read ({type(error).__name__}).") from None

    def digest(self, name: str) -> tuple[str, int]:
        """The SHA-256 of a member, and its size."""
        digest, size = hashlib.sha256(), 0
        for part in self._parts(name):
            digest.update(part)
            size += len(part)
        return digest.hexdigest(), size

    def document(self, name: str) -> Any:
        """A member that is one JSON document."""
        return _parsed(name, self.content(name))

    def content(self, name: str) -> bytes:
        """A member that fits into memory. Raises BundleError for one that does not."""
        parts, size = [], 0
        for part in self._parts(name):
            size += len(part)
            if size > LARGEST_DOCUMENT:
                raise BundleError(f"{name} is larger than {LARGEST_DOCUMENT} bytes.")
            parts.append(part)
        return b"".join(parts)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, one after another; no more is unpacked at a time."""
        name, unpacked = table_member(table), 0
        try:
            with self.open(name) as member, gzip.GzipFile(fileobj=member) as lines:
                while line := lines.readline(LONGEST_ROW):
                    unpacked += len(line)
                    if unpacked > LARGEST_MEMBER or (len(line) == LONGEST_ROW and not line.endswith(b"\n")):
                        raise BundleError(f"{name} has more than a bundle may have: {unpacked} bytes unpacked.")
                    yield _parsed(name, line)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise BundleError(f"{name} cannot be unpacked ({type(error).__name__}).") from None

    def first_difference(self) -> int | None:
        """The place of the first byte that a bundle of these members does not have; None for an intact archive."""
        with tempfile.TemporaryFile() as again:
            with zipfile.ZipFile(again, "w") as archive:
                for info in self._archive.infolist():
                    with archive.open(_info(info.filename), "w") as into:
                        for part in self._parts(info.filename):
                            into.write(part)
            again.seek(0)
            with self._path.open("rb") as stored:
                return _first_difference(stored, again)

    def _parts(self, name: str) -> Iterator[bytes]:
        with self.open(name) as member:
            # The checksum of the archive is compared while it is read.
            try:
                while part := member.read(_CHUNK):
                    yield part
            except (zipfile.BadZipFile, EOFError, OSError) as error:
                raise BundleError(f"{name} cannot be read ({type(error).__name__}).") from None


class WrittenMember(NamedTuple):
    """A member as the manifest lists it."""

    sha256: str
    bytes: int


def write_bundle(path: Path, members: Mapping[str, Path | bytes], about: Mapping[str, Any]) -> dict[str, Any]:
    """Write members and a manifest with their hashes; returns the manifest. The file appears whole or not at all."""
    listed: dict[str, WrittenMember] = {}
    partial = path.with_name(f".{path.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for name in MEMBERS:
                if name in members:
                    listed[name] = _write(archive, name, members[name])
            manifest = {
                "format": FORMAT,
                **about,
                "members": {name: member._asdict() for name, member in listed.items()},
            }
            text = json.dumps(manifest, indent=2).encode() + b"\n"
            _write(archive, MANIFEST, text)
            _write(archive, MANIFEST_HASH, f"{hashlib.sha256(text).hexdigest()}  {MANIFEST}\n".encode())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def bundle_hash(bundle: OpenedBundle) -> str:
    """What names a bundle: the SHA-256 of its manifest, which has the hashes of all other members."""
    return bundle.digest(MANIFEST)[0]


def _write(archive: zipfile.ZipFile, name: str, content: Path | bytes) -> WrittenMember:
    digest, size = hashlib.sha256(), 0
    with archive.open(_info(name), "w") as into:
        for part in _parts_of(content):
            digest.update(part)
            size += len(part)
            into.write(part)
    return WrittenMember(digest.hexdigest(), size)


def _parts_of(content: Path | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while part := file.read(_CHUNK):
            yield part


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def _first_difference(one: IO[bytes], other: IO[bytes]) -> int | None:
    place = 0
    while True:
        left, right = one.read(_CHUNK), other.read(_CHUNK)
        if left != right:
            same = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
            return place + (min(len(left), len(right)) if same is None else same)
        if not left:
            return None
        place += len(left)


def _parsed(name: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BundleError(f"{name} is not JSON.") from None
