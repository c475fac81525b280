"""Problems of the API, in short."""

import httpx

from api.problems import MEDIA_TYPE


def problem(reply: httpx.Response) -> tuple[int, str]:
    """Its status and its slug, the last word of its type."""
    assert reply.headers["content-type"] == MEDIA_TYPE
    return reply.status_code, reply.json()["type"].rpartition(":")[2]
