"""Who Postgres runs as. It refuses to run as root, so root has to hand it to somebody else."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePath

from schemas.errors import StackError

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
        """The group that goes with `user`."""
        return pwd.getpwnam(self.user).pw_gid if self.user else None

    def own(self, path: Path) -> None:
        """Give a file or an empty folder to the account."""
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(path, account.pw_uid, account.pw_gid)

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
