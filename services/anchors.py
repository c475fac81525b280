"""Audits of several runs, and the files of heads that are kept elsewhere."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from schemas.errors import Refused, RunMissingError
from store.database import Connection
from store.runs import audit, heads, overviews, tombstones
from store.runs.heads import Head
from store.runs.links import Flaw
from store.runs.tombstones import ChainEnd, Tombstone

_FORMAT: Final = "ragq-anchor-1"


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """The audit of one run."""

    run: str
    attempts: int
    flaws: tuple[Flaw, ...]
    purged: tuple[str, ...] = ()
    """What was purged of it, in words."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """What is kept elsewhere to find later whether hashes were computed anew."""

    heads: tuple[Head, ...]
    tombstones: ChainEnd


async def audit_runs(
    connection: Connection, run_ids: Sequence[int], kept: Anchor | None = None
) -> tuple[list[AuditedRun], Anchor]:
    """Audit runs, or all of them when none is named, also against an anchor; and the anchor of now.

    Raises RunMissingError for a run that is not stored, and Refused for a named run of which the anchor has no head.
    """
    wanted = list(run_ids) or await overviews.ids(connection)
    of_run = {head.run: head for head in kept.heads} if kept else {}
    if kept and not run_ids:
        wanted = sorted({*wanted, *(int(name[1:]) for name in of_run)})
    found, now = [], []
    for run_id in wanted:
        if kept and run_ids and f"r{run_id}" not in of_run:
            raise Refused(f"The anchor has no head of r{run_id}; it has {', '.join(of_run)}.")
        # A transaction, so that a running run is audited as it is at one moment.
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            audited, head = await _audit_run(connection, run_id, of_run.get(f"r{run_id}"))
        found.append(audited)
        now += [] if head is None else [head]
    broken = await tombstones.chain_flaws(connection)
    broken += await tombstones.end_flaws(connection, kept.tombstones) if kept else []
    if broken:
        found.append(AuditedRun(run="tombstones", attempts=0, flaws=_flaws(broken)))
    return found, Anchor(heads=tuple(now), tombstones=await tombstones.last(connection))


async def _audit_run(connection: Connection, run_id: int, kept: Head | None) -> tuple[AuditedRun, Head | None]:
    known = await overviews.overview(connection, run_id)
    buried = await tombstones.audit(connection, run_id)
    words = tuple(stone.words for stone in buried.found)
    deleted = next((stone for stone in reversed(buried.found) if stone.what == tombstones.RUN), None)
    flaws = list(_flaws(buried.flaws))
    if kept and deleted:
        flaws += tombstones.anchor_flaws(deleted, kept)
        words += (_anchored(deleted, kept),) if not flaws else ()
    if known is None:
        if not words and kept is None:
            raise RunMissingError(run_id)
        if not buried.found:
            flaws += _flaws([f"r{run_id}: the anchor has this run, and it is not stored"])
        return AuditedRun(run=f"r{run_id}", attempts=0, flaws=tuple(flaws), purged=words), None
    audited = await audit.audit(connection, run_id)
    flaws = [*audited.flaws, *flaws]
    if kept and not deleted:
        changed = await heads.head_flaws(connection, run_id, kept)
        flaws += changed
        if words and not changed:
            words += (f"r{run_id}: what the anchor covers is as it was, but for the texts that were purged.",)
    shown = AuditedRun(run=f"r{run_id}", attempts=audited.attempts, flaws=tuple(flaws), purged=words)
    return shown, await heads.head(connection, run_id)


def _anchored(stone: Tombstone, kept: Head) -> str:
    """What an anchor shows of a run that was deleted since, where nothing contradicts it."""
    if tombstones.covers(stone, kept):
        return f"{kept.run}: what was purged is what the anchor covers."
    if stone.head is None:
        return f"{kept.run}: an older version of ragq purged it and kept no hash to compare with the anchor."
    return f"{kept.run}: attempts were added after the anchor was written; what was purged is not compared with it."


def _flaws(found: Iterable[str]) -> tuple[Flaw, ...]:
    return tuple(Flaw(None, "", 0, what) for what in found)


def anchor_text(anchor: Anchor) -> str:
    """The content of an anchor file: hashes and numbers, no text of a run."""
    kept = {"heads": [asdict(head) for head in anchor.heads], "tombstones": anchor.tombstones._asdict()}
    return json.dumps({"format": _FORMAT, **kept}, indent=2) + "\n"


def read_anchor(text: str) -> Anchor:
    """An anchor file. Raises Refused for any other file."""
    try:
        content = json.loads(text)
        if content["format"] != _FORMAT:
            raise ValueError
        kept = tuple(map(Head.read, content["heads"]))
        for head in kept:
            int(head.run[1:])
        # Files of older versions do not name the tombstones.
        end = ChainEnd(**content.get("tombstones", {"length": 0, "hash": None}))
        int(end.length)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused("The file is no anchor; `ragq audit --anchor FILE` writes one.") from None
    return Anchor(heads=kept, tombstones=end)
