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


def waiting(program: str, **environment: str) -> set[str]:
    """How the threads of each OpenMP library that a program loads wait: the policy and the turns before they sleep."""
    named = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    inherited = {name: value for name, value in os.environ.items() if name not in named}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | {"OMP_DISPLAY_ENV": "verbose"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.strip() for line in done.stderr.splitlines() if any(name in line for name in named)}


@pytest.mark.parametrize("program", [LLAMA, TORCH], ids=["llama.cpp", "torch"])
def test_threads_without_work_sleep_soon(program: str) -> None:
    assert waiting(program) == {"OMP_WAIT_POLICY = 'PASSIVE'", "GOMP_SPINCOUNT = '300'"}


def test_the_environment_decides_otherwise() -> None:
    assert "OMP_WAIT_POLICY = 'ACTIVE'" in waiting(LLAMA, OMP_WAIT_POLICY="active")
    assert "GOMP_SPINCOUNT = '7'" in waiting(LLAMA, GOMP_SPINCOUNT="7")
