"""How the threads of OpenMP wait: torch and llama.cpp compute on them."""

import os


def let_threads_sleep() -> None:
    """Have threads without work sleep instead of spinning; call it before the library that computes is imported.

    After each step of a computation its threads wait for each other. Spinning, they take the cores from the thread that
    they wait for where anything else runs: on two busy cores llama.cpp wrote 4 tokens a second on two threads, and 76
    with sleeping ones. What the environment says of OMP_WAIT_POLICY stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
