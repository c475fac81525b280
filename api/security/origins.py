"""From whose pages a request may come that changes something."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers


def is_cross_origin(headers: Headers, allowed: Collection[str] = ()) -> bool:
    """Whether a page of another origin sent a request. A client that is no browser says nothing, and is not foreign.

    Another port is another origin. `allowed` are origins that may call us.
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    return origin not in allowed and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
