from pathlib import Path

import pytest

from stages.participants.artifacts.names import index_name, vectors_path

DATA = Path("data")


@pytest.mark.parametrize(
    ("embeddings_file", "path"),
    [
        ("paper_train", "data/embeddings/paper_train.npz"),
        ("paper_train.npz", "data/embeddings/paper_train.npz"),
        ("mine/paper_train", "data/mine/paper_train.npz"),
        ("/srv/paper_train", "/srv/paper_train.npz"),
        ("/srv/v1.2.npz", "/srv/v1.2.npz"),
    ],
)
def test_the_vectors_are_at_the_path_of_the_settings(embeddings_file: str, path: str) -> None:
    assert vectors_path(embeddings_file, embeddings_path=None, data_directory=DATA).as_posix() == path


def test_an_explicit_path_wins_as_it_is() -> None:
    assert vectors_path("paper_train", embeddings_path="x/y.npz", data_directory=DATA) == Path("x/y.npz")


@pytest.mark.parametrize("embeddings_file", ["v1.2", "v1.2.npz", "mine/v1.2", "/srv/v1.2.npz"])
def test_an_index_has_the_name_of_its_file(embeddings_file: str) -> None:
    assert index_name(embeddings_file) == "v1.2"
