"""A certificate authority of a test's own."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Issued(NamedTuple):
    """A certificate with its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for host names."""

    def __init__(self, folder: Path) -> None:
        self._key = folder / "authority.key"
        self.certificate = folder / "authority.pem"
        _openssl("req", "-x509", *_new(self._key), "-out", self.certificate, "-days", "2", "-subj", "/CN=tests")

    def issue(self, folder: Path) -> Issued:
        """A certificate of localhost, as `server.pem` and `server.key` in a folder."""
        issued = Issued(folder / "server.pem", folder / "server.key")
        request = folder / "server.request"
        name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
        _openssl("req", *_new(issued.key), "-out", request, *name)
        signed = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial", "-copy_extensions", "copy")
        _openssl("x509", "-req", "-in", request, *signed, "-out", issued.certificate, "-days", "2")
        return issued


def _new(key: Path) -> tuple[str | Path, ...]:
    return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
