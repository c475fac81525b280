"""A bundle checked by itself: without a database, without servers, and without the text that it may lack."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from schemas.errors import BundleError
from schemas.values.base import Value
from schemas.values.bundles import FORMAT, AttemptRow, RunPart, VectorRow
from services.bundles import archive
from services.bundles.archive import OpenedBundle
from stages.bundles.marks import has_withheld
from store.runs.chain import stored_hash
from store.runs.links import Link, chain_flaws, has_settings_hash

#: Beyond it a list of problems is of no use.
_MOST_PROBLEMS = 50


@dataclass(frozen=True, kw_only=True)
class VerifiedBundle:
    """What a bundle is, what of it was recomputed, and everything that is wrong with it."""

    file: str
    bundle: str | None
    """The SHA-256 of its manifest."""
    manifest: dict[str, Any] | None
    members: int
    attempts: int
    links: int
    """Attempts whose own hash was recomputed from the row, up to the hash of the output."""
    outputs: int
    """Outputs whose hash was recomputed, with their vectors."""
    withheld: int
    """Outputs without their text: their hash stands in the chain and cannot be recomputed."""
    problems: tuple[str, ...]

    @property
    def proves(self) -> str:
        """What the verification proves, and what not."""
        words = (
            "Every byte is the one that was written with this manifest, and the attempts follow each other as their "
            "hashes say. "
        )
        if self.withheld:
            words += (
                f"{self.withheld} outputs came without text: that their numbers are those of the hashed output rests "
                "on who exported them. "
            )
        return words + (
            "Who can write the whole file can write all hashes anew: compare the hash of the bundle, or a signature, "
            "with what the other side published."
        )


def verify_bundle(path: Path) -> VerifiedBundle:
    """Check a file; whatever is wrong with it is listed, and never raised."""
    try:
        bundle = OpenedBundle(path)
    except BundleError as error:
        return _unreadable(path, str(error))
    try:
        return _verified(path, bundle)
    finally:
        bundle.close()


def _verified(path: Path, bundle: OpenedBundle) -> VerifiedBundle:
    problems = list(bundle.refusals())
    if problems:
        return _unreadable(path, *problems)
    name, manifest = None, None
    try:
        name = archive.bundle_hash(bundle)
        problems += _member_problems(bundle, name)
        manifest = bundle.document(archive.MANIFEST)
        problems += _manifest_problems(bundle, manifest)
        place = bundle.first_difference()
        if place is not None and not problems:
            problems.append(f"the archive around its members differs at byte {place}")
    except BundleError as error:
        problems.append(str(error))
    chain = _Chain()
    if not problems:
        try:
            chain = _check_chain(bundle)
        except BundleError as error:
            problems.append(str(error))
    problems += chain.problems
    return VerifiedBundle(
        file=str(path),
        bundle=name,
        manifest=manifest if isinstance(manifest, dict) else None,
        members=len(bundle.infos),
        attempts=chain.attempts,
        links=chain.links,
        outputs=chain.outputs,
        withheld=chain.withheld,
        problems=tuple(problems[:_MOST_PROBLEMS]),
    )


def read_rows(bundle: OpenedBundle, table: str, row: type[Value]) -> Iterator[Value]:
    """The rows of a table, each of them valid by itself. Raises BundleError for others."""
    if archive.table_member(table) not in bundle.infos:
        return
    for number, content in enumerate(bundle.rows(table), start=1):
        try:
            yield row.model_validate(content)
        except ValidationError as error:
            names = sorted({".".join(map(str, problem["loc"])) for problem in error.errors()})
            raise BundleError(f"Row {number} of {table} is not valid: {', '.join(names[:5])}.") from None


def read_run(bundle: OpenedBundle) -> RunPart:
    """The run of a bundle."""
    try:
        return RunPart.model_validate(bundle.document(archive.RUN))
    except ValidationError:
        raise BundleError(f"{archive.RUN} is not valid.") from None


def _member_problems(bundle: OpenedBundle, name: str) -> Iterator[str]:
    if bundle.content(archive.MANIFEST_HASH) != f"{name}  {archive.MANIFEST}\n".encode():
        yield f"{archive.MANIFEST}: its hash is not the one in {archive.MANIFEST_HASH}; one of the two changed"


def _manifest_problems(bundle: OpenedBundle, manifest: Any) -> Iterator[str]:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        yield f"{archive.MANIFEST}: it is not of the format {FORMAT}"
        return
    listed = manifest.get("members")
    if not isinstance(listed, dict) or not isinstance(manifest.get("run"), dict):
        yield f"{archive.MANIFEST}: it lists no members"
        return
    here = bundle.infos.keys() - {archive.MANIFEST, archive.MANIFEST_HASH}
    for name in sorted(listed.keys() - here):
        yield f"{name!r}: the manifest lists it, and it is missing"
    for name in sorted(here - listed.keys()):
        yield f"{name}: the manifest does not list it"
    for name in sorted(here & listed.keys()):
        sha256, size = bundle.digest(name)
        if listed[name] != {"sha256": sha256, "bytes": size}:
            yield f"{name}: it is not what was written"
    for name in (archive.RUN, archive.BASIS, archive.ORIGIN, archive.table_member("attempts")):
        if name not in here:
            yield f"{name}: it is missing"


@dataclass(kw_only=True)
class _Chain:
    attempts: int = 0
    links: int = 0
    outputs: int = 0
    withheld: int = 0
    problems: tuple[str, ...] = ()


def _check_chain(bundle: OpenedBundle) -> _Chain:
    run = read_run(bundle)
    problems = []
    if not has_settings_hash(run.kind, run.settings, run.settings_hash):
        problems.append(f"{archive.RUN}: the settings are not those of their hash")
    found = _Chain()
    vectors = _vectors(bundle)
    has_text = bundle_has_text(bundle)
    links = []
    for row in read_rows(bundle, "attempts", AttemptRow):
        assert isinstance(row, AttemptRow)
        found.attempts += 1
        lacks_inputs = has_withheld(row.inputs)
        lacks_output = row.output is not None and not has_text
        found.links += not lacks_inputs and row.hash is not None
        found.withheld += lacks_output
        found.outputs += row.output is not None and not lacks_output
        links.append(_link(row, run.settings_hash, vectors.get(row.id, b""), lacks_inputs, lacks_output))
    problems += [f"{archive.table_member('attempts')}: {flaw}" for flaw in chain_flaws(links)]
    found.problems = tuple(problems)
    return found


def bundle_has_text(bundle: OpenedBundle) -> bool:
    """Whether its texts were exported."""
    return bundle.document(archive.MANIFEST).get("with_text") is True


def _link(row: AttemptRow, settings_hash: str, vectors: bytes, lacks_inputs: bool, lacks_output: bool) -> Link:
    found = None if row.output is None or lacks_output else stored_hash(json.dumps(row.output), vectors)
    return Link(
        job_id=row.job_id,
        hashed_job_id=row.job_id,
        settings_hash=settings_hash,
        has_inputs=not lacks_inputs,
        is_output_as_stored=lacks_output or found == row.output_hash,
        **{
            name: getattr(row, name)
            for name in (
                *("stage", "number", "outcome", "inputs", "output_hash", "previous_hash", "hash"),
                *("error_type", "error_message"),
            )
        },
    )


def _vectors(bundle: OpenedBundle) -> Mapping[int, bytes]:
    """The vectors of each attempt in the byte order of the database, as `stored_hash` takes them."""
    found: dict[int, bytearray] = {}
    for row in read_rows(bundle, "vectors", VectorRow):
        assert isinstance(row, VectorRow)
        try:
            numbers = base64.b64decode(str(row.vector), validate=True)
        except binascii.Error:
            raise BundleError(f"A vector of attempt {row.attempt_id} is not base64.") from None
        if len(numbers) % 4:
            raise BundleError(f"A vector of attempt {row.attempt_id} is cut.")
        swapped = bytearray(numbers)
        swapped[0::4], swapped[1::4], swapped[2::4], swapped[3::4] = (numbers[at::4] for at in (3, 2, 1, 0))
        found.setdefault(row.attempt_id, bytearray()).extend(swapped)
    return {attempt_id: bytes(vectors) for attempt_id, vectors in found.items()}


def _unreadable(path: Path, *problems: str) -> VerifiedBundle:
    nothing = dict.fromkeys(("members", "attempts", "links", "outputs", "withheld"), 0)
    return VerifiedBundle(
        file=str(path), bundle=None, manifest=None, problems=tuple(problems[:_MOST_PROBLEMS]), **nothing
    )
