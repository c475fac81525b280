import tracemalloc
from io import BytesIO

import numpy as np
import pytest

from schemas.values.participants import FileProblem
from stages.participants.artifacts.files import IndexFiles
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.artifacts.vectors import read_vectors
from stages.ports import Vectors
from tests.stages.participants.artifacts.builders import VECTORS, npz


class Exploding:
    """Unpickling one of these ends the test."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("It was unpickled.",)


def single_array() -> bytes:
    file = BytesIO()
    np.save(file, VECTORS[303])
    return file.getvalue()


def read(data: bytes) -> tuple[dict[int, Vectors], list[FileProblem]]:
    files = IndexFiles({ArtifactFile.VECTORS: data}, "small")
    return read_vectors(files), files.problems


def test_arrays_are_read_by_participant_and_others_are_skipped() -> None:
    file = BytesIO()
    np.savez(file, emb_304=VECTORS[304], emb_303=VECTORS[303], created=np.zeros(3), emb_x=np.zeros(3))
    arrays, problems = read(file.getvalue())
    assert (list(arrays), problems) == ([303, 304], [])


def test_pickled_objects_are_refused_and_never_unpickled() -> None:
    _, problems = read(npz({303: np.array([Exploding()], dtype=object)}))
    assert problems[0].found == "is not an .npz file that can be read without unpickling (ValueError)"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (npz(VECTORS)[:200], "BadZipFile"),
        (npz(VECTORS).replace(np.float32(0.8).tobytes(), np.float32(0.9).tobytes()), "BadZipFile"),
        (b"", "BadZipFile"),
        (b"no zip", "BadZipFile"),
        (single_array(), "BadZipFile"),
    ],
    ids=["truncated", "changed", "empty", "text", "npy"],
)
def test_a_broken_file_is_refused(data: bytes, kind: str) -> None:
    arrays, (problem,) = read(data)
    assert (arrays, str(problem)) == (
        {},
        f"small.npz: is not an .npz file that can be read without unpickling ({kind}); write one float32 array of "
        "shape (chunks, dimension) per participant with numpy.savez",
    )


def test_an_archive_that_fills_the_memory_is_refused_before_it_is_unpacked() -> None:
    file = BytesIO()
    np.savez_compressed(file, emb_303=np.zeros((50_000, 1_000), dtype=np.float32))

    tracemalloc.start()
    _, (problem,) = read(file.getvalue())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert problem.found == "is not an .npz file that can be read without unpickling (ValueError)"
    assert peak < 10_000_000
