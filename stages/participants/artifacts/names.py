"""The paths of the files of a reference index: one base name, a suffix for each file."""

from enum import StrEnum
from pathlib import Path, PurePath


class ArtifactFile(StrEnum):
    """A file of an index, as the suffix that replaces `.npz`."""

    #: One float32 array per participant, key `emb_<id>`, a row per chunk.
    VECTORS = ".npz"
    #: Participant id -> texts of the chunks, in the order of the rows.
    TEXTS = ".json"
    #: The source and the settings of the index.
    META = ".meta.json"
    #: Participant id -> tags per chunk.
    TAGS = ".tags.json"
    #: Participant id -> scores per chunk.
    CHUNK_SCORES = ".chunk_scores.json"
    #: The scorer of the chunks.
    CHUNK_SCORES_META = ".chunk_scores.meta.json"
    #: What was skipped.
    PARTIAL = ".partial.json"


def index_name(embeddings_file: str) -> str:
    """The name of the index in EMBEDDING_EMBEDDINGS_FILE: its last part, without `.npz`.

    >>> index_name("/data/embeddings/paper_train.npz"), index_name("paper_train")
    ('paper_train', 'paper_train')
    """
    return PurePath(embeddings_file).name.removesuffix(ArtifactFile.VECTORS)


def vectors_path(embeddings_file: str, *, embeddings_path: str | None, data_directory: Path) -> Path:
    """The path of the `.npz` file of the settings.

    `embeddings_path` has precedence and is used unchanged. Otherwise an absolute `embeddings_file` is used, one with a
    folder is relative to `data_directory`, and a bare name to its sub-folder `embeddings`; a missing `.npz` is added.

    >>> vectors_path("paper_train", embeddings_path=None, data_directory=Path("data")).as_posix()
    'data/embeddings/paper_train.npz'
    """
    if embeddings_path:
        return Path(embeddings_path)
    named = Path(embeddings_file.removesuffix(ArtifactFile.VECTORS) + ArtifactFile.VECTORS)
    return data_directory / ("embeddings" if named.parent == Path() else "") / named
