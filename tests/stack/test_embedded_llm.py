"""The embedded language model: its weights, converted once, and its requests in llama.cpp's terms."""

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, LlamaFileType, quants

from schemas.errors import StackError
from schemas.values.participants import PHQ8Item
from stack import embedded_llm
from stack.embedded_llm import converted, on_one_line
from stack.llm_server import ChatRequest
from stages.participants.score_reply import evidence_json_schema, score_json_schema
from stages.replies.asking import VERDICT_JSON_SCHEMA

MATRIX = np.random.default_rng(7).normal(size=(4, 64)).astype(np.float32)
NORM = np.arange(64, dtype=np.float32)


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    """A file as the packaged one: a matrix in Q4_1, a vector in F32, numbers, texts and lists."""
    path = tmp_path / "Tiny.Q4_1.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_file_type(LlamaFileType.MOSTLY_Q4_1)
    writer.add_context_length(8192)
    writer.add_token_list(["<|im_start|>", "é", "word"])
    writer.add_token_types([3, 1, 1])
    writer.add_chat_template("{{ messages }}")
    writer.add_tensor("norm", NORM)
    q4_1 = GGMLQuantizationType.Q4_1
    writer.add_tensor("matrix", quants.quantize(MATRIX, q4_1), raw_dtype=q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_matrices_become_q8_0_and_everything_else_stays(packaged: Path, tmp_path: Path) -> None:
    before, after = GGUFReader(packaged), GGUFReader(converted(packaged, tmp_path / "cache"))

    old, new = ({tensor.name: tensor for tensor in reader.tensors} for reader in (before, after))
    assert {name: tensor.tensor_type.name for name, tensor in new.items()} == {"norm": "F32", "matrix": "Q8_0"}
    assert new["norm"].data.tolist() == NORM.tolist()
    was = quants.dequantize(old["matrix"].data, GGMLQuantizationType.Q4_1)
    found = quants.dequantize(new["matrix"].data, GGMLQuantizationType.Q8_0)
    assert np.abs(found - was).max() <= np.abs(was).max() / 250
    fields = {name: field.contents() for name, field in before.fields.items()}
    assert {name: field.contents() for name, field in after.fields.items()} == fields | {
        "general.file_type": LlamaFileType.MOSTLY_Q8_0
    }


def test_it_is_converted_once_however_many_start_at_once(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = Mock(wraps=embedded_llm._convert)
    monkeypatch.setattr(embedded_llm, "_convert", convert)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: converted(packaged, tmp_path / "cache"), range(4)))

    assert converted(packaged, tmp_path / "cache") in found
    assert len(found) == convert.call_count == 1


def test_a_conversion_that_was_killed_leaves_nothing_that_is_used(packaged: Path, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from stack import embedded_llm\n"
        "embedded_llm._sync = lambda part: (part.write_bytes(part.read_bytes()[:-9]), os.kill(os.getpid(), 9))\n"
        "embedded_llm.converted(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(packaged), str(tmp_path / "cache")])
    assert killed.returncode == -signal.SIGKILL
    (half,) = (tmp_path / "cache").glob("*.part")

    whole = converted(packaged, tmp_path / "cache")

    assert len(GGUFReader(whole).tensors) == 2
    assert not half.exists()


def test_a_full_disk_is_named(packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with monkeypatch.context() as patched, pytest.raises(StackError, match=r"to .*cache \(No space left on device\)"):
        patched.setattr(embedded_llm, "_convert", full)
        converted(packaged, tmp_path / "cache")
    assert converted(packaged, tmp_path / "cache").exists()


OPEN_OBJECT = {"type": "object", "properties": {"a": {"enum": [1]}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, 1.1),
        ("json", 1.1),
        (score_json_schema("strict", max_text_chars=40), 1.1),
        (OPEN_OBJECT, 1.1),
        (OPEN_OBJECT | {"additionalProperties": False}, 1.0),
        (VERDICT_JSON_SCHEMA, 1.0),
        (evidence_json_schema({PHQ8Item.SLEEP: "i lie awake"}, max_text_chars=80), 1.0),
    ],
)
def test_repetition_is_penalised_unless_there_are_choices_alone(schema: Any, expected: float) -> None:
    request = ChatRequest(model="m", messages=[], format=schema)

    assert request.for_llama_cpp()["repeat_penalty"] == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array", "items": {"type": ["string", "nothing"]}},
        {"type": "array", "items": True},
    ],
)
def test_a_part_that_is_not_known_leaves_the_schema_to_llama_cpp(schema: dict[str, Any]) -> None:
    assert on_one_line(schema) is None
