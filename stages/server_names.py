"""The name of a server, by which two mentions of it are compared."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


def server_name(url: str) -> str:
    """The identity of a server: its URL in one form, without credentials, query and fragment.

    >>> server_name("https://me:key@LLM.example.org:443/v1/?token=a"), server_name("http://127.0.0.1:11434")
    ('https://llm.example.org/v1', 'http://127.0.0.1:11434')
    """
    address = urlsplit(url)
    host = (address.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}.get(address.scheme)
    port = "" if address.port in (None, default) else f":{address.port}"
    return f"{address.scheme}://{host}{port}{address.path.rstrip('/')}"


@contextmanager
def naming_server(url: str) -> Iterator[None]:
    """A block in which a server is asked: what is raised in it remembers which."""
    try:
        yield
    except Exception as error:
        error.asked_server = server_name(url)  # type: ignore[attr-defined]
        raise


def asked_server(error: BaseException) -> str | None:
    """The server that was asked when an exception was raised, if it is known."""
    return getattr(error, "asked_server", None)
