"""How the threads of OpenMP wait: torch and llama.cpp compute on them."""

import os

#: Turns of the loop in which a thread waits before it sleeps: about as long as a step of a small model takes.
_TURNS = "300"


def let_threads_sleep() -> None:
    """Have threads without work sleep soon instead of spinning; call it before the library that computes is imported.

    After each step of a computation its threads wait for each other. Spinning for long, they take the cores from the
    thread that they wait for where anything else runs: on two busy cores llama.cpp wrote 4 tokens a second on two
    threads. Sleeping at once, they wake too late where nothing else runs: 35 tokens a second instead of 66. In between
    it wrote 62 when idle and 37 beside one busy process. docs/decisions/embedded-llm.md has the figures. What the
    environment says of OMP_WAIT_POLICY and GOMP_SPINCOUNT stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", _TURNS)
