"""Feeds the converters of documents with files that are changed at random, each through its process with limits."""

import asyncio
import io
import random
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.documents import convert
from adapters.limited_process import ProcessLimits
from schemas.errors import DocumentError
from stages.documents.outline import DocumentFormat, format_of, outline
from stages.documents.repair import repair_by_rules, sanitise
from stages.texts.characters import can_be_stored
from tests.hostile_documents import hostile_documents

CONVERTERS: Final = tuple(form.value for form in DocumentFormat if form is not DocumentFormat.MARKDOWN)
_LIMITS: Final = ProcessLimits(20, 600, 4)
_SLOW_S: Final = 2 * _LIMITS.seconds
_MOST_CHANGES: Final = 20
_LARGEST_SEED: Final = 200_000
_PIECES: Final = (
    *(
        b"\0",
        b"\xff",
        b"<",
        b">",
        b"&",
        b"]]>",
        b"<!DOCTYPE",
        b"&#xD800;",
        b"<<",
        b"endobj",
        b"stream",
        b"/Kids [2 0 R]",
    ),
    *(
        b"-1",
        b"99999999999",
        b"1e308",
        b"()",
        b"[",
        b"]",
        b"\n",
        b".. include:: x\n",
        b"<table>",
        b"<p>",
        b"\xed\xa0\x80",
    ),
)


def feed(form: str, seconds: int, seed: int) -> None:
    """Convert changed files of a format for some time. Raises SystemExit with the file that did not hold.

    A file may be refused with DocumentError; any other exception, a text that cannot be stored, or a conversion that
    takes twice as long as its limit, ends the run.
    """
    chance = random.Random(seed)
    seeds = [one.content for one in hostile_documents() if one.name.endswith(_suffix(form))]
    seeds = [content for content in seeds if 0 < len(content) <= _LARGEST_SEED]
    until, count, read = time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        content = _changed(chance.choice(seeds), chance)
        began = time.monotonic()
        try:
            read += asyncio.run(_convert(content, f"a{_suffix(form)}"))
        except Exception as error:
            raise SystemExit(f"{form}: {error!r}: {_kept(content, form)}") from error
        if time.monotonic() - began > _SLOW_S:
            raise SystemExit(f"{form}: it took {time.monotonic() - began:.0f} s: {_kept(content, form)}")
        count += 1
    print(f"{form}: {count} files, {read} of them read")


async def _convert(content: bytes, name: str) -> bool:
    with suppress(DocumentError):
        converted = await convert(content, format_of(content, name), _LIMITS)
        repairs = repair_by_rules(outline(converted.markdown, converted.toc).headings)
        sanitise(converted.markdown, repairs, converted.page_lines)
        if not can_be_stored(converted.model_dump_json()) or not all(map(can_be_stored, _strings(converted))):
            raise ValueError("It has text that cannot be stored.")
        return True
    return False


def _strings(converted: object) -> Iterator[str]:
    for value in vars(converted).values():
        match value:
            case str():
                yield value
            case tuple():
                for part in value:
                    yield from _strings(part) if hasattr(part, "__dict__") else ()


def _changed(content: bytes, chance: random.Random) -> bytes:
    if content.startswith(b"PK") and chance.random() < 0.8:
        with suppress(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
            return _changed_entry(content, chance)
    return _changed_bytes(content, chance)


def _changed_entry(content: bytes, chance: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist() if entry.file_size < 1_000_000}
    name = chance.choice([one for one in entries if one != "mimetype"])
    entries[name] = _changed_bytes(entries[name], chance)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, inside in entries.items():
            archive.writestr(one, inside)
    return written.getvalue()


def _changed_bytes(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        at = chance.randrange(len(changed) + 1)
        length = chance.choice((0, 1, 1, 4, 50))
        match chance.randrange(3):
            case 0:
                changed[at : at + length] = chance.choice(_PIECES)
            case 1:
                changed[at : at + length] = chance.randbytes(length)
            case _:
                changed[at:at] = changed[at : at + length] * chance.choice((1, 2, 100))
    return bytes(changed)


def _suffix(form: str) -> str:
    return ".txt" if form == DocumentFormat.TEXT else f".{form}"


def _kept(content: bytes, form: str) -> Path:
    file = Path(f"converter-finding{_suffix(form)}").resolve()
    file.write_bytes(content)
    return file
