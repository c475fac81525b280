"""A bundle stored as a run that is shown, reported and compared like any other, and that nothing computes on."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from schemas.chains import in_order
from schemas.errors import BundleError
from schemas.values.base import Value
from schemas.values.bundles import AttemptRow, CallRow, CallUseRow, JobRow, RunPart, StageRow, VectorRow
from schemas.values.environments import RunOrigin
from schemas.values.query_runs import QueryRun
from schemas.values.scored_runs import ScoredRun
from services.bundles import archive
from services.bundles.archive import OpenedBundle
from services.bundles.verify import bundle_has_text, read_rows, read_run, verify_bundle
from stages.reports.run_words import asked_for, notices, variants_in_words
from store.database import Connection
from store.runs import bundle_rows
from store.runs.bundle_rows import ImportedRows
from store.runs.chain import content_hash

Row = TypeVar("Row", bound=Value)
Member = TypeVar("Member")


@dataclass(frozen=True, kw_only=True)
class ImportedBundle:
    """A run that was imported."""

    run_id: int
    is_new: bool
    """False if the same bundle was imported before; nothing is stored then."""
    of: str
    """The run in the database that computed it."""
    bundle: str
    jobs: int
    attempts: int
    with_text: bool


async def import_bundle(connection: Connection, path: Path) -> ImportedBundle:
    """Store the run of a bundle under a number of its own, or find the run that was imported from it.

    Raises BundleError for a bundle that is not as it was written, or whose rows cannot be stored.
    """
    verified = verify_bundle(path)
    if verified.problems:
        raise BundleError(f"`ragq verify {path}` lists what is wrong: {verified.problems[0]}.")
    assert verified.bundle is not None and verified.manifest is not None
    bundle = OpenedBundle(path)
    try:
        run = read_run(bundle)
        rows = ImportedRows(
            run,
            _rows(bundle, "jobs", JobRow),
            _rows(bundle, "stages", StageRow),
            _rows(bundle, "attempts", AttemptRow),
            _rows(bundle, "vectors", VectorRow),
            _rows(bundle, "calls", CallRow),
            _rows(bundle, "call_uses", CallUseRow),
        )
        with_text = bundle_has_text(bundle)
        basis = _basis(bundle.document(archive.BASIS))
        origin = _valid(RunOrigin, bundle.document(archive.ORIGIN), archive.ORIGIN)
    finally:
        bundle.close()
    _refuse_unreadable(rows)
    async with connection.transaction():
        found = await bundle_rows.of_bundle(connection, verified.bundle)
        if found is None:
            request = run.request | {"imported": _record(path, verified.bundle, run, verified.manifest)}
            # Another identity than that of the same work here: a submission of it computes, and is given no other's.
            identity = content_hash({"imported": verified.bundle})
            run_id = await bundle_rows.store_rows(connection, _with_truth(rows, basis), identity, request)
            numbers = await bundle_rows.job_numbers(connection, run_id)
            await bundle_rows.keep_origin(
                connection,
                run_id,
                verified.bundle,
                verified.manifest,
                basis=None if basis is None else _renumbered(basis, run_id, numbers),
                origin=asdict(origin),
            )
    return ImportedBundle(
        run_id=run_id if found is None else found,
        is_new=found is None,
        of=f"r{run.id}",
        bundle=verified.bundle,
        jobs=len(rows.jobs),
        attempts=len(rows.attempts),
        with_text=with_text,
    )


def _refuse_unreadable(rows: ImportedRows) -> None:
    """Raise BundleError for a run that could be stored and not be shown: of unknown stages, or with an odd request."""
    run, stages = rows.run, {one.stage for one in rows.stages}
    if any("value" not in setting or not isinstance(setting.get("source"), str) for setting in run.settings.values()):
        raise BundleError(f"{archive.RUN} has settings without value and source.")
    try:
        in_order(run.kind, stages)
    except ValueError:
        raise BundleError(f"It has stages that no chain of kind '{run.kind[:40]}' has.") from None
    request = {name: value for name, value in run.request.items() if name != "imported"}
    try:
        shown = [*notices(run.kind, run.profile, request), asked_for(request), variants_in_words(request)]
    except (KeyError, TypeError, AttributeError, ValueError):
        raise BundleError(f"{archive.RUN} has a request that no version of ragq writes.") from None
    assert all(isinstance(words, str) for words in shown)


def _record(path: Path, bundle: str, run: RunPart, manifest: dict[str, Any]) -> dict[str, Any]:
    """What the request of the run notes; `imported` marks the run wherever it is shown."""
    return {
        "program": "ragq",
        "file": path.name,
        "bundle": bundle,
        "run_id": f"r{run.id}",
        "name": run.name,
        "exported_at": str(manifest.get("exported_at", ""))[:40],
        "with_text": manifest.get("with_text") is True,
        "version": run.version,
        "before": run.request.get("imported"),
    }


def _basis(content: Any) -> dict[str, Any] | None:
    if content is None:
        return None
    if isinstance(content, dict) and len(content) == 1:
        if "scored" in content:
            return {"scored": _valid(ScoredRun, content["scored"], archive.BASIS).model_dump(mode="json")}
        if "queries" in content:
            return {"queries": _valid(QueryRun, content["queries"], archive.BASIS).model_dump(mode="json")}
    raise BundleError(f"{archive.BASIS} is not valid.")


def _with_truth(rows: ImportedRows, basis: dict[str, Any] | None) -> ImportedRows:
    """The ground truth of the bundle, not that of a participant who has the same number here."""
    if basis is None or "scored" not in basis:
        return rows
    truth = {job["job_id"]: job["labels"] for job in basis["scored"]["jobs"]}
    jobs = [
        job.model_copy(update={"inputs": {**dict(job.inputs or {}), "ground_truth": truth.get(job.id)}})
        for job in rows.jobs
    ]
    return rows._replace(jobs=jobs)


def _renumbered(value: Any, run_id: int, jobs: dict[int, int]) -> Any:
    """The basis of reports with the numbers of the run and of its jobs here."""
    if isinstance(value, dict):
        numbered = {name: _renumbered(inner, run_id, jobs) for name, inner in value.items()}
        if "run_id" in value:
            numbered["run_id"] = run_id
        if "job_id" in value:
            numbered["job_id"] = _job(jobs, value["job_id"])
        return numbered
    return [_renumbered(inner, run_id, jobs) for inner in value] if isinstance(value, list) else value


def _job(jobs: dict[int, int], number: int) -> int:
    if number not in jobs:
        raise BundleError(f"{archive.BASIS} names job {number}, which is not there.")
    return jobs[number]


def _rows(bundle: OpenedBundle, table: str, row: type[Row]) -> list[Row]:
    return [one for one in read_rows(bundle, table, row) if isinstance(one, row)]


def _valid(kind: type[Member], content: Any, member: str) -> Member:
    try:
        found: Member = TypeAdapter(kind).validate_python(content)
        return found
    except ValidationError:
        raise BundleError(f"{member} is not valid, or of another version of ragq.") from None
