"""`ragq references`: reference indexes from files."""

from collections.abc import Collection
from pathlib import Path

import click

from cli.config import with_database
from cli.files import data_directory, environment, read_file
from cli.options import Choice, effective_settings, group, settings_options
from cli.output import json_option, print_result, print_text
from schemas.errors import Refused
from schemas.values.participants import TranscriptVariant
from services.indexes import import_artifact
from stages.participants.artifacts import ArtifactFile, LoadRules
from stages.participants.index_names import index_name, named_parts
from stages.participants.split_names import TRAINING_SPLITS

#: Read only when they are asked for: otherwise they may be missing, broken or of another index.
ON_REQUEST = frozenset({ArtifactFile.TAGS, ArtifactFile.CHUNK_SCORES, ArtifactFile.CHUNK_SCORES_META})

_REQUIRED = (ArtifactFile.VECTORS, ArtifactFile.TEXTS)


class ArtifactNotFoundError(Refused, FileNotFoundError):
    """The vectors or the texts of an index are not where they were looked for."""


def read_artifact_files(vectors: Path, *, asked_for: Collection[ArtifactFile]) -> dict[ArtifactFile, bytes]:
    """The files beside an `.npz`, and itself. Vectors and texts have to be there; others may be missing.

    Tags and chunk scores are not opened unless they are in `asked_for`. Raises ArtifactNotFoundError, and Refused for
    a file that cannot be read.
    """
    if vectors.suffix != ArtifactFile.VECTORS:
        raise Refused(
            f"{vectors} is not the name of an .npz file; name that one, the others are found in the same folder."
        )
    files = {}
    for file in ArtifactFile:
        path = vectors.with_name(vectors.name.removesuffix(ArtifactFile.VECTORS) + file)
        if file in ON_REQUEST and file not in asked_for:
            continue
        if path.exists():
            files[file] = read_file(path)
        elif file in _REQUIRED:
            raise ArtifactNotFoundError(
                f"There is no {path}. An index is at least NAME.npz with the vectors and NAME.json with the texts."
            )
    return files


@group("references")
def references_group() -> None:
    """Read reference indexes from files.

    \b
    Example:
        ragq references import data/embeddings/huggingface_qwen3_8b_paper_train.npz
    """


@references_group.command("import")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--name", help="Name of the index; without it the name of the file. It may not name another split or variant."
)
@click.option(
    "--data-set", help="Whose participants they are; without it the data set that has their split, or the only one."
)
@click.option(
    "--split",
    metavar="SPLIT",
    help="Split of files that do not name theirs; without it the one in the name, else paper-train.",
)
@click.option(
    "--variant",
    type=Choice([variant.value for variant in TranscriptVariant if variant is not TranscriptVariant.UNKNOWN]),
    help="Transcript variant of files that do not name theirs; without it the one in the name, else unknown.",
)
@click.option(
    "--tags/--no-tags", default=None, help="Read NAME.tags.json or leave it alone; else as the settings need it."
)
@click.option(
    "--chunk-scores/--no-chunk-scores",
    default=None,
    help="Read NAME.chunk_scores.json or leave it alone; else as the settings need it.",
)
@click.option(
    "--other-prompt",
    is_flag=True,
    help="Accept chunk scores that were made with another prompt than ragq's, as those of other programs are; its hash "
    "is recorded, and shown with every run that uses them.",
)
@settings_options
@json_option
def import_command(
    file: Path | None,
    name: str | None,
    data_set: str | None,
    split: str | None,
    variant: str | None,
    tags: bool | None,
    chunk_scores: bool | None,
    other_prompt: bool,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Import a reference index from NAME.npz and the files beside it.

    The metadata in the files must match the settings; every difference is named,
    and nothing is imported then. The index replaces an older one of its name and identity in one step.

    Without FILE it is DATA_EMBEDDINGS_PATH, or EMBEDDING_EMBEDDINGS_FILE in DATA_BASE_DIR/embeddings, and takes the
    name that runs look for.

    \b
    Example:
        ragq references import data/embeddings/huggingface_qwen3_8b_paper_train.npz --profile paper
        ragq references import small.npz --set EMBEDDING_DIMENSION=384 --tags
        ragq references import data/embeddings/scored.npz --chunk-scores --other-prompt
    """
    settings = effective_settings(profile, assignments).run
    path = file or _settings_path(settings.embedding.embeddings_file)
    stored_name = index_name(name or (path.name if file else settings.embedding.embeddings_file))
    named = named_parts(stored_name)
    rules = LoadRules(
        settings=settings,
        with_tags=settings.embedding.enable_item_tag_filter if tags is None else tags,
        with_chunk_scores=(
            settings.embedding.reference_score_source == "chunk" if chunk_scores is None else chunk_scores
        ),
        accept_other_prompt=other_prompt,
        default_split=split or named.split or next(iter(TRAINING_SPLITS)),
        default_variant=TranscriptVariant(variant) if variant else named.variant or TranscriptVariant.UNKNOWN,
    )
    files = read_artifact_files(path, asked_for=rules.asked_for)

    stored, warnings = with_database(
        import_artifact,
        files,
        file_name=path.stem,
        index_name=stored_name,
        rules=rules,
        data_set=data_set,
        default_data_set=data_directory().absolute().name,
    )
    for warning in warnings:
        print_text(f"Warning: {warning}", err=True)
    source = f"{stored.source}, transcripts {stored.variant}"
    words = f"Imported index '{stored.name}' ({source}): {stored.participants} participants, {stored.chunks} chunks."
    print_result(stored, words, as_json=as_json)


def _settings_path(embeddings_file: str) -> Path:
    """DATA_EMBEDDINGS_PATH has precedence and is used unchanged. Otherwise an absolute `embeddings_file` is used, one
    with a folder is relative to DATA_BASE_DIR, and a bare name to its sub-folder `embeddings`; a missing `.npz` is
    added."""
    if embeddings_path := environment().get("DATA_EMBEDDINGS_PATH"):
        return Path(embeddings_path)
    named = Path(embeddings_file.removesuffix(ArtifactFile.VECTORS) + ArtifactFile.VECTORS)
    return data_directory() / ("embeddings" if named.parent == Path() else "") / named
