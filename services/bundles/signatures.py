"""Signatures of bundles by OpenSSH: people have its keys, and publish their public halves."""

import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from schemas.errors import Refused

NAMESPACE: Final = "ragq-bundle"
"""A signature of another kind of file is not one of a bundle."""

_TIMEOUT_S: Final = 300


class Signature(NamedTuple):
    """What is known of the signature of a bundle."""

    is_valid: bool
    words: str


def signature_file(bundle: Path) -> Path:
    """Where the signature of a bundle is."""
    return bundle.with_name(bundle.name + ".sig")


def sign(bundle: Path, key: Path) -> Path:
    """Sign a bundle by a private key, or by the agent's key of a public one. Raises Refused when ssh-keygen cannot."""
    target = signature_file(bundle)
    target.unlink(missing_ok=True)
    done = _keygen("sign", "-f", str(key), str(bundle))
    if done.returncode or not target.exists():
        raise Refused(f"ssh-keygen did not sign {bundle.name} with {key}: {done.stderr.strip()[-300:]}")
    return target


def check(bundle: Path, *, allowed_signers: Path | None, signer: str | None) -> Signature | None:
    """Check the signature beside a bundle; None without one.

    With allowed signers and the name of one it is valid only by a key of that name. Without them any key will do, and
    its fingerprint is what is known.
    """
    stored = signature_file(bundle)
    if not stored.exists():
        if allowed_signers is not None:
            return Signature(False, f"{stored.name} is missing: the bundle is not signed")
        return None
    if allowed_signers is None:
        done = _keygen("check-novalidate", "-s", str(stored), input_file=bundle)
        words = "signed; nothing says who owns the key. --allowed-signers FILE --signer NAME checks that"
    else:
        done = _keygen("verify", "-f", str(allowed_signers), "-I", signer or "", "-s", str(stored), input_file=bundle)
        words = f"signed by {signer}"
    if done.returncode:
        return Signature(False, "the signature is not one of this bundle" + (f" by {signer}" if signer else ""))
    return Signature(True, f"{words} ({done.stdout.strip()[-200:]})")


def _keygen(action: str, *arguments: str, input_file: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise Refused("Signatures need ssh-keygen of OpenSSH 8.1 or newer, which is not on the PATH.")
    command = [program, "-Y", action, "-n", NAMESPACE, *arguments]
    if input_file is None:
        return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    with input_file.open("rb") as stream:
        return subprocess.run(command, stdin=stream, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
