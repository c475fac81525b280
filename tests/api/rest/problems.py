"""Problems of the API, in short."""

import httpx


def slug(reply: httpx.Response) -> str:
    """The last word of the type of a problem."""
    kind: str = reply.json()["type"]
    return kind.rpartition(":")[2]


def problem(reply: httpx.Response) -> tuple[int, str]:
    """Its status and its slug."""
    return reply.status_code, slug(reply)
