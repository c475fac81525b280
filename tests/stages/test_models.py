"""Names of models, and number formats of vectors."""

import pytest

from schemas.errors import Refused
from stages.models import refuse_mixture, resolved_model


def test_a_backend_is_asked_for_a_model_by_its_own_name_and_not_for_one_that_it_does_not_have() -> None:
    names = {
        ("gemma3:27b", "huggingface"): "google/gemma-3-27b-it",
        ("medgemma:27b", "huggingface"): "google/medgemma-27b-text-it",
        ("qwen3-embedding:8b", "huggingface"): "Qwen/Qwen3-Embedding-8B",
        ("Qwen/Qwen3-Embedding-8B", "ollama"): "qwen3-embedding:8b",
        ("google/gemma-3-27b-it", "ollama"): "gemma3:27b",
        ("qwen3-embedding:8b", "openai"): "qwen3-embedding:8b",
        ("Qwen/Qwen3-Embedding-8B", "openai"): "Qwen/Qwen3-Embedding-8B",
        ("all-minilm-l6-v2", "huggingface"): "all-minilm-l6-v2",
    }
    assert {(name, backend): resolved_model(name, backend) for name, backend in names} == names
    with pytest.raises(Refused, match="ollama does not have the model medgemma:27b; choose huggingface"):
        resolved_model("medgemma:27b", "ollama")


def test_formats_that_were_compared_and_unknown_ones_may_be_mixed() -> None:
    compared = [("float32", []), ("float32", ["bfloat16"]), ("bfloat16", ["float32", "bfloat16"])]
    for dtype, made_with in [*compared, ("float16", ["float16"]), ("", ["float16"]), ("Q4_1", ["float32"])]:
        refuse_mixture(dtype, made_with, what="The corpus")
