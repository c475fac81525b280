"""Where the files of a reference index lie: one base name, one suffix for each."""

from enum import StrEnum
from pathlib import Path, PurePath


class ArtifactFile(StrEnum):
    """A file of an index, as the suffix that takes the place of `.npz`."""

    #: One float32 array per participant, key `emb_<id>`, a row per chunk.
    VECTORS = ".npz"
    #: Participant id -> texts of the chunks, in the order of the rows.
    TEXTS = ".json"
    #: What the index was built from and with.
    META = ".meta.json"
    #: Participant id -> tags per chunk.
    TAGS = ".tags.json"
    #: Participant id -> scores per chunk.
    CHUNK_SCORES = ".chunk_scores.json"
    #: Who scored the chunks.
    CHUNK_SCORES_META = ".chunk_scores.meta.json"
    #: What was left out.
    PARTIAL = ".partial.json"


def index_name(embeddings_file: str) -> str:
    """The name of the index that EMBEDDING_EMBEDDINGS_FILE means: its last part, without `.npz`.

    >>> index_name("/data/embeddings/paper_train.npz"), index_name("paper_train")
    ('paper_train', 'paper_train')
    """
    return PurePath(embeddings_file).name.removesuffix(ArtifactFile.VECTORS)


def vectors_path(embeddings_file: str, *, embeddings_path: str | None, data_directory: Path) -> Path:
    """Where the `.npz` of the settings lies.

    `embeddings_path` wins as it is. Else an absolute `embeddings_file` stays, one with a folder is taken from
    `data_directory`, and a bare name from its sub-folder `embeddings`; `.npz` is added where it is missing.

    >>> vectors_path("paper_train", embeddings_path=None, data_directory=Path("data")).as_posix()
    'data/embeddings/paper_train.npz'
    """
    if embeddings_path:
        return Path(embeddings_path)
    named = Path(embeddings_file.removesuffix(ArtifactFile.VECTORS) + ArtifactFile.VECTORS)
    return data_directory / ("embeddings" if named.parent == Path() else "") / named
