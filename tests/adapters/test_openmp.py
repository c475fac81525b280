"""How the threads of OpenMP wait. The library itself prints what it was told, when it is loaded."""

import os
import subprocess
import sys

import pytest

#: Ends at once: llama.cpp waits for ever when it is stopped before its own server listens.
LLAMA = """
import os
from adapters.packaged import llm_file
from stack.embedded_llm import EmbeddedLLM
llm = EmbeddedLLM(llm_file(), threads=2)
os._exit(0)
"""
TORCH = """
from adapters.packaged import PACKAGED_EMBEDDER
from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=2).max_tokens
"""

pytestmark = pytest.mark.servers


def policies(program: str, **environment: str) -> set[str]:
    """OMP_WAIT_POLICY of each OpenMP library that a program loads."""
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | {"OMP_DISPLAY_ENV": "true"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.partition("=")[2].strip(" '") for line in done.stderr.splitlines() if "OMP_WAIT_POLICY" in line}


@pytest.mark.parametrize("program", [LLAMA, TORCH], ids=["llama.cpp", "torch"])
def test_threads_without_work_sleep(program: str) -> None:
    assert policies(program) == {"PASSIVE"}


def test_the_environment_decides_otherwise() -> None:
    assert policies(LLAMA, OMP_WAIT_POLICY="active") == {"ACTIVE"}
