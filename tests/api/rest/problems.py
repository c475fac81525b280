"""Problems of the API, in short."""

import httpx

from api.problems import MEDIA_TYPE


def slug(reply: httpx.Response) -> str:
    """The last word of the type of a problem."""
    kind: str = reply.json()["type"]
    return kind.rpartition(":")[2]


def problem(reply: httpx.Response) -> tuple[int, str]:
    """Its status and its slug."""
    assert reply.headers["content-type"] == MEDIA_TYPE
    return reply.status_code, slug(reply)
