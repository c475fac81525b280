"""Reference indexes between the database and files: no workers are needed, only rules."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import NamedTuple

from schemas.errors import Refused
from schemas.values.interviews import StoredSplit, TranscriptVariant
from schemas.values.references import ArtifactMeta, ChunkScoresMeta, PartialBuild, Sidecar
from services.indexes import current_index
from stages.participants.artifacts.files import describe
from stages.participants.artifacts.load import Identity, load_artifact
from stages.participants.artifacts.names import ArtifactFile, built_name, named_parts
from stages.participants.artifacts.rules import LoadRules
from stages.participants.artifacts.write import write_artifact
from stages.participants.split_names import TEST_SPLITS, training_name
from stages.participants.transcripts import import_command
from store.database import Connection
from store.references import contents, interviews, references
from store.references.references import IndexPlan, StoredIndex
from store.references.splits import stored_splits


class ImportedIndex(NamedTuple):
    """An index that was imported, and what is worth saying about it."""

    stored: StoredIndex
    warnings: tuple[str, ...]


async def import_artifact(
    connection: Connection,
    files: Mapping[ArtifactFile, bytes],
    *,
    file_name: str,
    index_name: str,
    rules: LoadRules,
    data_set: str | None = None,
    default_data_set: str = "data",
) -> ImportedIndex:
    """Check the files of an index against the stored splits, and store it as the current one of its name and identity
    in one transaction.

    Without a data set it is the one that has the split of the files, else the only one that is stored, else the
    default. Raises what `load_artifact` raises, and Refused for a name that names another split or variant than the
    files, and where several data sets could be meant; nothing is stored then.
    """
    every_split = await stored_splits(connection)
    splits = {
        one.name: one
        for one in every_split
        if one.name not in TEST_SPLITS and (one.data_set == data_set if data_set else one.called == one.name)
    }
    artifact = load_artifact(files, name=file_name, rules=replace(rules, splits=splits))
    identity, embedding = artifact.identity, rules.settings.embedding
    _refuse_wrong_name(index_name, identity)
    data_set = data_set or await _data_set(connection, identity.split, every_split, default=default_data_set)
    plan = IndexPlan(
        name=index_name,
        data_set=data_set,
        split=identity.split,
        split_csv_hash=identity.split_csv_hash,
        split_ids_hash=identity.split_ids_hash,
        variant=identity.variant,
        backend=embedding.backend,
        model=identity.model,
        dimension=embedding.dimension,
        chunk_size=embedding.chunk_size,
        chunk_step=embedding.chunk_step,
        min_evidence_chars=embedding.min_evidence_chars,
    )
    index_id = await contents.keep_imported(
        connection,
        plan,
        artifact.participants,
        model_digest=identity.model_digest,
        artifact_meta=_document(artifact.meta),
        chunk_scores_meta=_document(artifact.chunk_scores_meta),
        partial=_document(artifact.partial),
    )
    warnings = list(artifact.warnings)
    if identity.model_digest is None:
        warnings.append("The files do not name the weights of the model: runs compare its name alone.")
    if unlabelled := await references.unlabelled(connection, index_id):
        warnings.append(
            f"No item scores are stored for {len(unlabelled)} of {len(artifact.participants)} participants: their "
            f"chunks take places among the references and are not shown. `{import_command(plan.data_set)}` first, then "
            "import the index again."
        )
    stored = await current_index(connection, f"{plan.name}@{plan.identity}")
    return ImportedIndex(stored, tuple(warnings))


async def export_artifact(connection: Connection, name: str, *, file_name: str) -> dict[ArtifactFile, bytes]:
    """The files of the current index of a name. Raises Refused when there is none."""
    index = await current_index(connection, name)
    participants = await contents.of_index(connection, index.id)
    meta = describe(
        None if index.artifact_meta is None else ArtifactMeta.from_document(index.artifact_meta),
        backend=index.backend,
        model=index.model,
        model_digest=index.model_digest,
        dimension=index.dimension,
        chunk_size=index.chunk_size,
        chunk_step=index.chunk_step,
        min_evidence_chars=index.min_evidence_chars,
        split=index.split,
        split_csv_hash=index.split_csv_hash,
        split_ids_hash=index.split_ids_hash,
        variant=index.variant,
        participant_count=len(participants),
        built_at=index.published_at or index.created_at,
        built_by=f"ragq {version('ragq')}",
    )
    return write_artifact(
        participants,
        name=file_name,
        meta=meta,
        chunk_scores_meta=(
            None if index.chunk_scores_meta is None else ChunkScoresMeta.from_document(index.chunk_scores_meta)
        ),
        partial=None if index.partial is None else PartialBuild.from_document(index.partial),
    )


async def _data_set(connection: Connection, split: str, stored: Sequence[StoredSplit], *, default: str) -> str:
    having = [one.data_set for one in stored if one.name == split] or list(await interviews.data_sets(connection))
    if len(having) > 1:
        raise Refused(
            f"The files are of split '{training_name(split)}', and do not name its data set: name it with "
            f"{' or '.join(f'`--data-set {shlex.quote(name)}`' for name in having)}. Nothing was imported."
        )
    return having[0] if having else default


def _document(sidecar: Sidecar | None) -> dict[str, object] | None:
    return None if sidecar is None else sidecar.document()


def _refuse_wrong_name(name: str, identity: Identity) -> None:
    split, named = training_name(identity.split), named_parts(name)
    if named.split in (None, split) and (
        identity.variant is TranscriptVariant.UNKNOWN or named.variant in (None, identity.variant)
    ):
        return
    said = [str(part) for part in (named.split, named.variant) if part]
    built_from = [split] + ([] if identity.variant is TranscriptVariant.UNKNOWN else [identity.variant])
    bare = named.rest or "index"
    raise Refused(
        f"The name '{name}' names {' and '.join(said)}, and the files were built from {' and '.join(built_from)}; "
        f"nothing was imported. Import them with `--name {built_name(bare, split, identity.variant)}`."
    )
