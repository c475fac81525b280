"""Runs every check at the same time, each within a limit, so that no address can make it wait."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from schemas.errors import RagqError
from services.doctor.models import check_embedder, check_language_models
from services.doctor.servers import (
    Finding,
    Findings,
    Verdict,
    check_broker,
    check_database,
    check_disk,
    check_monitor,
    check_pages,
    check_settings,
    check_stack,
    check_version,
    shown,
)

LIMIT_S: Final = 10.0

Check: TypeAlias = Callable[[Mapping[str, str]], Findings]

CHECKS: Final[dict[str, Check]] = {
    "ragq": check_version,
    "settings": check_settings,
    "stack": check_stack,
    "postgres": check_database,
    "broker": check_broker,
    "language model": check_language_models,
    "embedder": check_embedder,
    "api": check_pages,
    "flower": check_monitor,
    "disk": check_disk,
}
"""In the order of the report."""


class _Done(NamedTuple):
    name: str
    findings: list[Finding]


def examine(
    environment: Mapping[str, str], *, checks: Mapping[str, Check] = CHECKS, limit_s: float = LIMIT_S
) -> list[Finding]:
    """The findings of every check, in their order; a check that takes longer than the limit fails.

    Each check has a thread of its own, which does not keep the process from ending: a name server that does not answer
    blocks for longer than any time-out.
    """
    done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
    for name, check in checks.items():
        threading.Thread(target=_carry_out, args=(name, check, environment, done), daemon=True).start()
    found: dict[str, Sequence[Finding]] = {}
    deadline = time.monotonic() + limit_s
    while len(found) < len(checks):
        try:
            one = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        found[one.name] = one.findings
    return [
        finding
        for name in checks
        for finding in found.get(name, [Finding(name, Verdict.FAIL, f"no answer within {limit_s:g} s", _SLOW)])
    ]


_SLOW: Final = "Look at its address: something accepts connections there and does not answer."


def _carry_out(name: str, check: Check, environment: Mapping[str, str], done: "queue.SimpleQueue[_Done]") -> None:
    findings: list[Finding] = []
    try:
        findings.extend(check(environment))
    except Exception as error:  # noqa: BLE001  (a check that breaks is a finding, and the others are still reported)
        # The message of a foreign error may quote an address with its password.
        why = shown(error) if isinstance(error, RagqError) else type(error).__name__
        findings.append(Finding(name, Verdict.FAIL, f"cannot be checked: {why}"))
    done.put(_Done(name, findings))
