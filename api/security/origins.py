"""Requests from pages of other sites."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers


def is_cross_origin(headers: Headers, allowed: Collection[str] = ()) -> bool:
    """Whether a page of another origin, and of none in `allowed`, sent a request.

    Another port is another origin. A client that is no browser sends neither header, and is not cross-origin.
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    return origin not in allowed and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
