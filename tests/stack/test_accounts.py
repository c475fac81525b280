import pwd

import pytest

from stack.accounts import other_users


def test_other_users_are_people_with_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = [("root", 0, "/bin/bash"), ("me", 1000, "/bin/sh"), ("you", 1001, "/bin/zsh")]
    accounts += [("mail", 1002, "/usr/sbin/nologin"), ("nobody", 65534, "/bin/sh"), ("db", 999, "/bin/sh")]
    entries = [pwd.struct_passwd((name, "x", uid, uid, "", "/", shell)) for name, uid, shell in accounts]
    monkeypatch.setattr("pwd.getpwall", lambda: entries)
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert other_users() == ["you"]
