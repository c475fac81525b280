"""A disk whose flushes take long: a library between Postgres and the C library that waits before each fsync."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_as_a_slow_disk(void) {
    struct timespec pause = {0, MILLISECONDS * 1000000L};
    nanosleep(&pause, 0);
}

#define SLOW(name)                                             \
    int name(int fd) {                                         \
        static int (*real)(int);                               \
        if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name); \
        wait_as_a_slow_disk();                                 \
        return real(fd);                                       \
    }

SLOW(fsync)
SLOW(fdatasync)
"""


@contextmanager
def slow_flushes(milliseconds: int | None) -> Iterator[None]:
    """A block in which every process that is started flushes so much slower; without a number, as fast as it can.

    Of the processes of the benchmarks only Postgres waits for a flush: the broker flushes in the background.
    """
    if milliseconds is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="ragq-slow-disk-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        library = folder / "slow.so"
        options = ["-shared", "-fPIC", f"-DMILLISECONDS={milliseconds}", "-x", "c", "-", "-o", str(library), "-ldl"]
        subprocess.run(["cc", *options], input=_SOURCE, text=True, check=True)
        os.environ["LD_PRELOAD"] = str(library)
        try:
            yield
        finally:
            del os.environ["LD_PRELOAD"]
