"""Bundles: without a word of text, checked to the last byte, and stored in another database."""

import asyncio
import gzip
import io
import json
import random
import subprocess
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from schemas.errors import BundleError, ImportedRunError, Refused
from schemas.values.measures import Measures, RetrievalMeasures
from schemas.values.query_runs import QueryRun
from services.bundles import archive, signatures
from services.bundles.export import export_run
from services.bundles.import_run import import_bundle
from services.bundles.verify import verify_bundle
from services.comparisons import compare_scores
from stages.reports.report import build_report
from stages.reports.retrieval import build_retrieval_report
from stages.reports.run_words import notices
from store.database import Database
from store.runs import audit, run_figures
from store.runs.run_view import run_view
from store.views.lineage import job_trace
from store.views.reported_runs import reported_run
from tests.cli.test_plot import ranked_run
from tests.conftest import administer, url_of
from tests.services.bundles.rows import MARK, marked_run
from tests.store.query_runs import store_corpus

FEW = Measures(bootstrap_resamples=20)


@pytest.fixture
async def other(postgres: Any, migrated_template: str, database: Database) -> AsyncIterator[Database]:
    """The database of another lab."""
    name = f"{database.url.rsplit('/', 1)[1]}_other"
    await asyncio.to_thread(
        administer, postgres, f'CREATE DATABASE "{name}" TEMPLATE "{migrated_template}" STRATEGY file_copy'
    )
    connected = Database(url_of(postgres, name), pool_size=2)
    yield connected
    await connected.close()
    await asyncio.to_thread(administer, postgres, f'DROP DATABASE "{name}" WITH (FORCE)')


async def exported(database: Database, folder: Path, *, with_text: bool = False) -> tuple[Path, int]:
    path = folder / ("text.zip" if with_text else "bundle.zip")
    async with database.connection() as connection:
        stored = await marked_run(connection)
        await export_run(connection, stored.run_id, path, with_text=with_text)
    return path, stored.run_id


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The members, unpacked."""
    with zipfile.ZipFile(path) as bundle:
        for name in bundle.namelist():
            data = bundle.read(name)
            if name.endswith(".gz"):
                data = gzip.decompress(data)
            if name.endswith(".parquet"):
                data = json.dumps(pq.read_table(io.BytesIO(data)).to_pylist(), default=str).encode()
            yield name, data


async def test_no_marked_text_is_in_a_bundle_without_text(database: Database, tmp_path: Path) -> None:
    path, _ = await exported(database, tmp_path)

    members = dict(contents(path))
    assert [name for name, data in members.items() if MARK.encode() in data] == []
    assert "rows/vectors.jsonl.gz" not in members
    (attempt,) = [json.loads(line) for line in members["rows/attempts.jsonl.gz"].splitlines() if b'"extract"' in line]
    assert attempt["output"]["quotes"] == {"Sleep": ["[withheld]"], "Tired": []}
    assert {"parquet/attempts.parquet", "parquet/jobs.parquet"} <= members.keys()


async def test_all_of_it_is_in_a_bundle_with_text(database: Database, tmp_path: Path) -> None:
    path, _ = await exported(database, tmp_path, with_text=True)

    marked = {name for name, data in contents(path) if MARK.encode() in data}
    assert {"run.json", "basis.json", "rows/jobs.jsonl.gz", "rows/attempts.jsonl.gz", "rows/calls.jsonl.gz"} <= marked
    found = verify_bundle(path)
    assert (found.problems, found.attempts, found.links, found.outputs, found.withheld) == ((), 8, 8, 7, 0)


async def test_what_can_be_verified_without_the_text_is_counted(database: Database, tmp_path: Path) -> None:
    path, _ = await exported(database, tmp_path)

    found = verify_bundle(path)
    assert (found.problems, found.attempts, found.links, found.outputs, found.withheld) == ((), 8, 8, 0, 7)
    assert "7 outputs came without text" in found.proves


@pytest.mark.parametrize("with_text", [False, True])
async def test_each_of_100_changed_bytes_is_found_and_named(
    database: Database, tmp_path: Path, with_text: bool
) -> None:
    path, _ = await exported(database, tmp_path, with_text=with_text)
    chosen, whole = random.Random(17), path.read_bytes()
    with zipfile.ZipFile(path) as bundle:
        places = {info.filename: info.header_offset for info in bundle.infolist()}
    changed, missed, unnamed = tmp_path / "changed.zip", [], []
    for _ in range(100):
        at = chosen.randrange(len(whole))
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chosen.randrange(8))]) + whole[at + 1 :])
        problems = verify_bundle(changed).problems
        if not problems:
            missed.append(at)
        elif not any(name in problem for problem in problems for name in (*places, "archive", "member")):
            unnamed.append((at, problems))

    assert (missed, unnamed) == ([], [])


def packed(path: Path, *members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as bundle:
        for name, data in members:
            bundle.writestr(name, data)
    return path


def test_hostile_archives_are_refused_by_name(tmp_path: Path) -> None:
    listed = ("manifest.json", b"{}"), ("manifest.sha256", b"")
    climbing = verify_bundle(packed(tmp_path / "a.zip", *listed, ("../../etc/passwd", b"x")))
    packed_bomb = packed(tmp_path / "b.zip", *listed, ("run.json", bytes(10**7)), compression=zipfile.ZIP_DEFLATED)
    (tmp_path / "no.zip").write_bytes(b"nothing")

    assert "'../../etc/passwd': no bundle has a member of this name" in climbing.problems
    assert "run.json: it is compressed, which members of a bundle are not" in verify_bundle(packed_bomb).problems
    assert verify_bundle(tmp_path / "no.zip").problems == (
        "The bundle cannot be used. It cannot be read as a zip archive (BadZipFile).",
    )


def test_a_bomb_inside_a_table_is_unpacked_to_the_limit_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_MEMBER", 1_000_000)
    monkeypatch.setattr(archive, "LONGEST_ROW", 100_000)
    long_row = gzip.compress(b"[" + b" " * 10_000_000)
    many_rows = gzip.compress(b"{}\n" * 1_000_000)
    opened = [
        archive.OpenedBundle(packed(tmp_path / f"{number}.zip", ("rows/jobs.jsonl.gz", data)))
        for number, data in enumerate((long_row, many_rows))
    ]

    for bundle in opened:
        with pytest.raises(BundleError, match="more than a bundle may have"):
            list(bundle.rows("jobs"))
        bundle.close()


@pytest.mark.parametrize("with_text", [False, True])
async def test_another_database_reports_and_compares_it(
    database: Database, other: Database, tmp_path: Path, with_text: bool
) -> None:
    path, run_id = await exported(database, tmp_path, with_text=with_text)
    async with database.connection() as connection:
        there = await reported_run(connection, run_id)
    async with other.connection() as connection:
        # Numbers that differ, and a participant of the same number with other labels.
        own = await marked_run(connection)
        await connection.execute("UPDATE participant SET items = '{\"PHQ8_NoInterest\": 0}'")
        found = await import_bundle(connection, path)
        again = await import_bundle(connection, path)
        here = await reported_run(connection, found.run_id)
        audited = await audit.audit(connection, found.run_id)
        view = await run_view(connection, found.run_id)
        assert view is not None
        trace = await job_trace(connection, view.jobs[0].job_id)
        figures = await run_figures.job_scores(connection, [found.run_id])
        keys = await connection.fetch("SELECT key FROM llm_call ORDER BY id")
        own_run = await reported_run(connection, own.run_id)

    assert (found.is_new, again.is_new, again.run_id, found.of) == (True, False, found.run_id, f"r{run_id}")
    one, other_report = build_report(there, measures=FEW), build_report(here, measures=FEW)  # type: ignore[arg-type]
    assert one.experiments[0].results == other_report.experiments[0].results
    assert compare_scores(own_run, here, mode=None, other_mode=None, measures={"bootstrap_resamples": 20})
    assert (audited.attempts, audited.flaws, audited.withheld) == (8, [], 0 if with_text else 7)
    assert "nothing of it was computed here" in " ".join(notices("participant", "demo", view.overview.request))
    assert trace is not None and [stage.stage for stage in trace.stages][-1] == "score"
    assert figures[found.run_id][0].labels is not None
    assert [row["key"].partition(":")[0] for row in keys] == ["k", "imported"]


async def test_a_changed_output_of_an_imported_run_is_found(
    database: Database, other: Database, tmp_path: Path
) -> None:
    path, _ = await exported(database, tmp_path)
    async with other.connection() as connection:
        found = await import_bundle(connection, path)
        await connection.execute(
            "UPDATE stage_attempt SET output = jsonb_set(output, '{entries}', '3') WHERE stage = 'assemble'"
        )
        audited = await audit.audit(connection, found.run_id)

    assert [flaw.what for flaw in audited.flaws] == ["its output or its vectors changed"]


async def test_nothing_computes_on_an_imported_run(database: Database, other: Database, tmp_path: Path) -> None:
    from schemas.values.targets import Target
    from services.control import Action, control

    path, _ = await exported(database, tmp_path)
    async with other.connection() as connection:
        found = await import_bundle(connection, path)
    with pytest.raises(ImportedRunError):
        await control(other, Target(found.run_id, None), Action.RETRY)


async def test_a_bundle_whose_rows_do_not_belong_together_is_not_stored(
    database: Database, other: Database, tmp_path: Path
) -> None:
    path, _ = await exported(database, tmp_path, with_text=True)
    members = dict(raw_members(path))
    lines = gzip.decompress(members["rows/call_uses.jsonl.gz"]).replace(b'"call_id":1', b'"call_id":99')
    members["rows/call_uses.jsonl.gz"] = gzip.compress(lines)
    forged = rewritten(members, tmp_path / "forged.zip")

    async with other.connection() as connection:
        with pytest.raises(BundleError, match="call 99 is named and is not there"):
            await import_bundle(connection, forged)
        assert await connection.fetchval("SELECT count(*) FROM run") == 0


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"request": {"overlap": 5}}, "a request that no version of ragq writes"),
        ({"settings": {"A": {"value": 1}}, "kind": "index"}, "settings without value and source"),
        ({"kind": "dance"}, "stages that no chain of kind 'dance' has"),
        ({"settings": 5}, "run.json is not valid"),
    ],
)
async def test_a_run_that_could_not_be_shown_is_not_stored(
    database: Database, other: Database, tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    path, _ = await exported(database, tmp_path)
    members = dict(raw_members(path))
    run = json.loads(members["run.json"])
    members["run.json"] = json.dumps({**run, **changes}).encode()
    forged = rewritten(members, tmp_path / "forged.zip")

    async with other.connection() as connection:
        with pytest.raises(BundleError, match=problem):
            await import_bundle(connection, forged)
        assert await connection.fetchval("SELECT count(*) FROM run") == 0


def rewritten(members: dict[str, bytes], path: Path) -> Path:
    """A bundle of these members, with hashes as somebody writes them who has changed a member."""
    about = json.loads(members["manifest.json"])
    archive.write_bundle(
        path,
        {name: data for name, data in members.items() if not name.startswith("manifest")},
        {name: value for name, value in about.items() if name not in ("format", "members")},
    )
    return path


def raw_members(path: Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as bundle:
        return [(name, bundle.read(name)) for name in bundle.namelist()]


async def test_a_run_that_works_is_not_exported(database: Database, tmp_path: Path) -> None:
    async with database.connection() as connection:
        stored = await marked_run(connection)
        await connection.execute("UPDATE job SET status = 'waiting'")
        with pytest.raises(Refused, match="has not finished"):
            await export_run(connection, stored.run_id, tmp_path / "a.zip")


def test_a_signature_is_checked_by_the_name_of_a_signer(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(tmp_path / name)], check=True
        )
    bundle, signers = tmp_path / "bundle.zip", tmp_path / "signers"
    bundle.write_bytes(b"bundle")
    signers.write_text("us@example.org " + (tmp_path / "ours.pub").read_text())

    assert signatures.check(bundle, allowed_signers=None, signer=None) is None
    signatures.sign(bundle, tmp_path / "ours")
    valid = signatures.check(bundle, allowed_signers=signers, signer="us@example.org")
    unknown = signatures.check(bundle, allowed_signers=None, signer=None)
    signatures.sign(bundle, tmp_path / "theirs")
    others = signatures.check(bundle, allowed_signers=signers, signer="us@example.org")
    signatures.sign(bundle, tmp_path / "ours")
    bundle.write_bytes(b"bundlE")
    changed = signatures.check(bundle, allowed_signers=signers, signer="us@example.org")

    assert [found and found.is_valid for found in (valid, unknown, others, changed)] == [True, True, False, False]
    assert unknown is not None and "nothing says who owns the key" in unknown.words


async def test_a_run_of_queries_is_reported_and_compared_without_its_corpus(
    database: Database, other: Database, tmp_path: Path
) -> None:
    path = tmp_path / "queries.zip"
    async with database.connection() as connection:
        run_id = await ranked_run(connection)
        await export_run(connection, run_id, path)
        there = build_retrieval_report(await query_report(connection, run_id), measures=RetrievalMeasures())
    async with other.connection() as connection:
        # Chunks of the same numbers, of other works.
        await store_corpus(connection, ["dogs", "coffee"])
        found = await import_bundle(connection, path)
        here = build_retrieval_report(await query_report(connection, found.run_id), measures=RetrievalMeasures())
        view = await run_view(connection, found.run_id)
        assert view is not None
        trace = await job_trace(connection, view.jobs[0].job_id)

    assert b"text of the question" not in b"".join(data for _, data in contents(path))
    assert here.stages == there.stages
    assert here.validator == there.validator
    assert trace is not None
    assert (trace.question, trace.titles) == (None, {})


async def query_report(connection: Any, run_id: int) -> QueryRun:
    found = await reported_run(connection, run_id)
    assert isinstance(found, QueryRun)
    return found


async def test_imported_runs_are_exported_again_with_the_numbers_that_hashes_cover(
    database: Database, other: Database, tmp_path: Path
) -> None:
    path, _ = await exported(database, tmp_path)
    async with other.connection() as connection:
        await marked_run(connection)
        found = await import_bundle(connection, path)
        await export_run(connection, found.run_id, tmp_path / "again.zip")
        with pytest.raises(Refused, match="without its texts"):
            await export_run(connection, found.run_id, tmp_path / "text.zip", with_text=True)

    again = verify_bundle(tmp_path / "again.zip")
    assert (again.problems, again.attempts, again.links) == ((), 8, 8)
