"""Processor time of process trees."""

import psutil


def seconds(pid: int) -> float:
    """User and system seconds of a process, of all below it, and of the children it has seen end."""
    root = psutil.Process(pid)
    return sum(sum(process.cpu_times()[:4]) for process in [root, *root.children(recursive=True)])
