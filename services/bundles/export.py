"""A run written to a bundle."""

import gzip
import importlib.util
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from schemas.errors import Refused, RunMissingError
from schemas.values.base import Value
from schemas.values.bundles import TABLES, Content, RunPart, columns_with
from schemas.values.scored_runs import ScoredRun
from services.bundles import archive
from stages.bundles.marks import WITHHELD
from stages.bundles.withheld import withhold, without_text
from store.database import Connection
from store.runs import audit, bundle_rows, heads
from store.runs.run_origins import run_origin
from store.views.reported_runs import reported_run
from store.views.run_state import run_state

_WITH_TEXT_ALONE: Final = frozenset({"vectors"})
"""Tables that are computed from text, row by row."""


@dataclass(frozen=True, kw_only=True)
class ExportedRun:
    """A bundle that was written."""

    run: str
    file: str
    bundle: str
    """The SHA-256 of its manifest: its name."""
    bytes: int
    with_text: bool
    rows: dict[str, int]
    withheld: int
    """Texts that were left out."""
    has_parquet: bool


async def export_run(
    connection: Connection, run_id: int, path: Path, *, with_text: bool = False, with_parquet: bool = True
) -> ExportedRun:
    """Write a finished run. Raises RunMissingError, and Refused for one that works or whose audit has flaws."""
    if with_parquet and importlib.util.find_spec("pyarrow") is None:
        raise Refused(
            "Parquet is written by pyarrow, which is not installed. `pip install 'ragq[frames]'` installs it; "
            "`--no-parquet` writes JSON lines alone."
        )
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        run = await bundle_rows.run_part(connection, run_id)
        state = await run_state(connection, run_id)
        if run is None or state is None:
            raise RunMissingError(run_id)
        if not state.is_idle:
            raise Refused(f"Run r{run_id} has not finished. `ragq watch r{run_id}` waits for it.")
        before = run.request.get("imported", {})
        if with_text and "bundle" in before and not before["with_text"]:
            raise Refused(f"Run r{run_id} was imported without its texts, so they cannot be exported.")
        audited = await audit.audit(connection, run_id)
        if audited.flaws:
            raise Refused(
                f"The audit of r{run_id} finds flaws, so it is not exported; `ragq audit r{run_id}` lists them."
            )
        with tempfile.TemporaryDirectory(prefix="ragq-export-") as name:
            folder = Path(name)
            withheld: Counter[str] = Counter()
            members: dict[str, Path | bytes] = {
                archive.RUN: _document((run if with_text else withhold(run)).model_dump(mode="json")),
                archive.BASIS: _document(await basis(connection, run_id, with_text=with_text)),
                archive.ORIGIN: _document(asdict(await run_origin(connection, run_id))),
            }
            rows: dict[str, int] = {}
            for table, kind in TABLES.items():
                if table in _WITH_TEXT_ALONE and not with_text:
                    rows[table] = 0
                    continue
                found = await bundle_rows.table_rows(connection, run_id, table, kind)
                file = folder / f"{table}.jsonl.gz"
                rows[table] = _write_lines(file, found, withheld, with_text=with_text)
                members[archive.table_member(table)] = file
                if with_parquet and rows[table]:
                    members[archive.parquet_member(table)] = _write_parquet(folder / f"{table}.parquet", file, kind)
            manifest = archive.write_bundle(path, members, await _about(connection, run, with_text, rows, withheld))
    opened = archive.OpenedBundle(path)
    try:
        name, size = archive.bundle_hash(opened), opened.size
    finally:
        opened.close()
    return ExportedRun(
        run=f"r{run_id}",
        file=str(path),
        bundle=name,
        bytes=size,
        with_text=with_text,
        rows=rows,
        withheld=sum(manifest["withheld"].values()),
        has_parquet=with_parquet,
    )


async def basis(connection: Connection, run_id: int, *, with_text: bool) -> dict[str, Any] | None:
    """What the reports of a run are computed from; None for a run that has nothing to report."""
    try:
        found = await reported_run(connection, run_id)
    except Refused:
        return None
    content = found.model_dump(mode="json")
    if isinstance(found, ScoredRun):
        # The only part with words: quotes and reasons of the scores.
        if not with_text:
            for job in content["jobs"]:
                job["scores"] = without_text(job["scores"])
        return {"scored": content | {"siblings": []}}
    return {"queries": content}


async def _about(
    connection: Connection, run: RunPart, with_text: bool, rows: Mapping[str, int], withheld: Mapping[str, int]
) -> dict[str, Any]:
    head = await heads.head(connection, run.id)
    return {
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "exported_by": {"ragq": version("ragq")},
        "run": {
            "number": f"r{run.id}",
            "kind": run.kind,
            "profile": run.profile,
            "identity": run.identity,
            "settings_hash": run.settings_hash,
            "version": run.version,
            "created_at": run.created_at.isoformat(),
        },
        "with_text": with_text,
        "rows": dict(rows),
        "withheld": dict(withheld),
        "head": {"attempts": head.attempts, "hash": head.hash},
    }


def _document(value: Any) -> bytes:
    return json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"


def _write_lines(file: Path, rows: Iterable[Value], withheld: Counter[str], *, with_text: bool) -> int:
    count = 0
    with file.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as lines:
        text = io.TextIOWrapper(lines, encoding="utf-8", newline="\n")
        for row in rows:
            kept = row if with_text else withhold(row)
            line = kept.model_dump_json()
            if not with_text:
                withheld[type(row).__name__] += line.count(WITHHELD)
            text.write(line + "\n")
            count += 1
        text.flush()
    return count


def _write_parquet(file: Path, lines: Path, kind: type[Value]) -> Path:
    """The rows as Parquet: documents are JSON in strings, times are times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    as_json = columns_with(Content.DOCUMENT, kind) | {"error_details", "served_by", "judgements"}
    with gzip.open(lines, "rt", encoding="utf-8") as text:
        rows = [
            {
                name: json.dumps(value) if name in as_json and value is not None else value
                for name, value in json.loads(line).items()
            }
            for line in text
        ]
    table = pa.Table.from_pylist(rows)
    for name in ("created_at", "started_at", "ended_at", "finished_at", "rejected_at"):
        if name in table.column_names and table.schema.field(name).type == pa.string():
            times = table[name].cast(pa.timestamp("us", tz="UTC"))
            table = table.set_column(table.column_names.index(name), name, times)
    pq.write_table(table, file, compression="zstd")
    return file
