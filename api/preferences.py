"""The header Prefer (RFC 7240): how long a request waits for its job."""

import re
from typing import Annotated, Final, NamedTuple

from fastapi import Depends, Header
from pydantic import WithJsonSchema

from api.context import Context

_WAIT: Final = re.compile(r"[0-9]{1,6}")


class WaitPreference(NamedTuple):
    """How long a request waits."""

    seconds: float
    applied: str | None
    """The preference that was applied, for Preference-Applied; None for the server's default."""

    @property
    def headers(self) -> dict[str, str]:
        """The header of the reply."""
        return {"Preference-Applied": self.applied} if self.applied else {}


def wait_preference_of(prefer: list[str] | None, *, longest_s: float) -> WaitPreference:
    """The wait that Prefer asks for, at most `longest_s` seconds.

    `respond-async` does not wait, `wait=N` waits N seconds, both together are `wait=N`. Other preferences and invalid
    ones are ignored, as RFC 7240 requires.

    >>> wait_preference_of(["respond-async"], longest_s=25)
    WaitPreference(seconds=0.0, applied='respond-async')
    >>> wait_preference_of(["return=minimal, wait=3"], longest_s=25)
    WaitPreference(seconds=3.0, applied='wait=3')
    """
    asked: dict[str, str] = {}
    for preference in ",".join(prefer or []).split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        asked.setdefault(name.strip().lower(), value.strip().strip('"'))
    wait = asked.get("wait", "")
    if _WAIT.fullmatch(wait) and float(wait) <= longest_s:
        return WaitPreference(float(wait), f"wait={int(wait)}")
    if "respond-async" in asked and not _WAIT.fullmatch(wait):
        return WaitPreference(0.0, "respond-async")
    return WaitPreference(longest_s, None)


async def wait(
    ctx: Context,
    prefer: Annotated[
        list[str] | None,
        # OpenAPI describes a header as one string, however often it may be sent.
        WithJsonSchema({"type": "string", "examples": ["respond-async", "wait=5"]}),
        Header(description="`respond-async` answers 202 at once; `wait=N` waits at most N seconds (RFC 7240)."),
    ] = None,
) -> WaitPreference:
    """How long a request waits for its job: as it prefers, up to the limit of the settings."""
    return wait_preference_of(prefer, longest_s=ctx.settings.ragq_api_wait_seconds)


Wait = Annotated[WaitPreference, Depends(wait)]
