"""Ports on this machine: which are free, and who holds those that are not."""

import ipaddress
import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

import psutil

from schemas.errors import StackError

LOOPBACK = "127.0.0.1"

#: Below those that Linux, macOS and Windows give to outgoing connections, one of which could take the port of a server
#: before the server listens.
_FOR_SERVERS: Final = range(20_000, 32_768)


def free_port() -> int:
    """A port that nobody listens on at this moment, and that no outgoing connection gets."""
    while not is_free(port := secrets.choice(_FOR_SERVERS)):
        pass
    return port


def is_free(port: int) -> bool:
    """A server could listen on the port. Connections that a former server left in TIME_WAIT do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def kept_port(path: Path, *, taken: Collection[int] = ()) -> int:
    """The port kept in a file. A new one is chosen the first time, and when it is taken or somebody listens there."""
    port = int(path.read_text()) if path.exists() else None
    while port is None or port in taken or not is_free(port):
        port = free_port()
    path.write_text(str(port))
    return port


def holder(port: int) -> str:
    """The process that listens on a port, for an error message: `nginx, pid 812`; of another user, no name."""
    try:
        listening = [
            connection.pid
            for connection in psutil.net_connections(kind="tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
        ]
        pid = next(pid for pid in listening if pid)
        return f"{psutil.Process(pid).name()}, pid {pid}"
    except (psutil.Error, StopIteration):
        return "a process that cannot be named from here"


def is_loopback(host: str) -> bool:
    """Whether a server that listens on a host listens on loopback alone. A name must resolve to loopback only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "127.8.9.10", "::1", "[::1]", "::ffff:127.0.0.1")]
    [True, True, True, True, True]
    >>> [is_loopback(host) for host in ("0.0.0.0", "::", "", "192.168.1.7")]
    [False, False, False, False]
    """
    if not host:
        return False
    try:
        found = socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(_is_loopback(literal(str(address[0]))) for *_, address in found)


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as, in brackets or without; None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address is not None and (inner or address).is_loopback


NOBODY = "nobody"
#: Ids of accounts of people; systemd gives others to services and containers.
FIRST_PERSON, LAST_PERSON = 1000, 60_000
USER_NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")


@dataclass(frozen=True, kw_only=True)
class Account:
    """A user to switch to before the command, or a prefix in front of it. Neither: the caller runs it himself."""

    user: str | None = None
    prefix: tuple[str, ...] = ()

    @property
    def group(self) -> int | None:
        return pwd.getpwnam(self.user).pw_gid if self.user else None

    def own(self, path: Path) -> None:
        """Give a file or an empty folder to the account."""
        if self.user:
            shutil.chown(path, self.user, self.group)

    def run(self, command: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command as the account to its end, its output captured. The caller looks at the return code."""
        return subprocess.run(
            [*self.prefix, *command],
            user=self.user,
            group=self.group,
            extra_groups=[] if self.user else None,
            cwd="/",
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )


def account_for(cluster: Path) -> Account:
    """The account for a cluster folder that may not exist yet.

    A cluster keeps the account it was made with, because its files belong to that user. As root, a new one goes to
    `nobody` where every folder above lets him pass, else to a user namespace in which root is called 1000. Raises
    StackError when neither can be had.
    """
    if os.geteuid() != 0:
        return Account()
    may_be_nobodys = cluster.stat().st_uid != 0 if cluster.exists() else is_traversable(cluster.parent)
    if may_be_nobodys:
        return Account(user=NOBODY)
    if has_user_namespaces():
        return Account(prefix=USER_NAMESPACE)
    raise StackError(
        f"Postgres does not run as root, and user '{NOBODY}' cannot reach {cluster.parent}. Set RAGQ_HOME to a folder "
        "that every user may enter, such as /var/lib/ragq, or run ragq as another user."
    )


def is_traversable(folder: Path) -> bool:
    """Everybody may pass through the folder and all folders above it."""
    return all(step.stat().st_mode & 0o001 for step in (folder.resolve(), *folder.resolve().parents))


def other_users() -> list[str]:
    """The people who may log in to this machine beside the caller: accounts from 1000 on with a shell."""
    return sorted(
        entry.pw_name
        for entry in pwd.getpwall()
        if FIRST_PERSON <= entry.pw_uid < LAST_PERSON
        and entry.pw_uid != os.geteuid()
        and PurePath(entry.pw_shell).name not in ("", "nologin", "false", "sync")
    )


def has_user_namespaces() -> bool:
    """This machine lets us make a user namespace; inside containers it is often forbidden."""
    if shutil.which(USER_NAMESPACE[0]) is None:
        return False
    return subprocess.run([*USER_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
