import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from schemas.errors import StackError
from stack.home import Home, Part
from stack.supervision import Supervisor, configuration
from tests.eventually import eventually

pytestmark = pytest.mark.servers

until = partial(eventually, timeout_s=15)


def sleeper(name: str, **changes: str) -> Part:
    return Part(name=name, command=[sys.executable, "-c", "import time; time.sleep(60)"], environment=changes)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    home = Home(tmp_path)
    home.make()
    found = Supervisor(home)
    found.launch([sleeper("first")], os.environ)
    yield found
    found.shutdown()


def test_a_killed_part_is_started_again(supervisor: Supervisor) -> None:
    supervisor.start("first")
    killed = supervisor.parts()["first"].pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    until(lambda: supervisor.parts()["first"].pid not in (killed, None))


def test_new_parts_start_and_the_old_ones_keep_running(supervisor: Supervisor) -> None:
    supervisor.start("first")
    pid = supervisor.parts()["first"].pid
    supervisor.apply([sleeper("first"), sleeper("second")])
    assert {name: part.pid for name, part in supervisor.parts().items()} == {"first": pid, "second": None}


def test_a_program_that_does_not_exist_is_refused(supervisor: Supervisor) -> None:
    supervisor.apply([Part(name="broken", command=["/no/such/program"])])
    with pytest.raises(StackError, match=r"broken cannot be started: .*can't find command"):
        supervisor.start("broken")


def test_a_supervisor_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    with pytest.raises(StackError, match=r"(?s)The supervisor did not start:.*no-such-user"):
        Supervisor(home).launch([Part(name="broken", command=["true"], user="no-such-user")], os.environ)


def test_the_configuration_keeps_signs_that_supervisord_would_expand(tmp_path: Path) -> None:
    part = Part(name="odd", command=["run", "--name=a@%h", "two words"], environment={"URL": "redis://:p%40@h/0"})
    lines = configuration(Home(tmp_path), [part]).splitlines()
    assert "command=run --name=a@%%h 'two words'" in lines
    assert 'environment=URL="redis://:p%%40@h/0"' in lines


def test_later_parts_stop_first_each_with_its_signal_and_time(tmp_path: Path) -> None:
    parts = [Part(name="a", command=["a"], stop_signal=signal.SIGINT), Part(name="b", command=["b"], stop_timeout_s=60)]
    wanted = ("[program:", "priority=", "stopsignal=", "stopwaitsecs=")
    assert [line for line in configuration(Home(tmp_path), parts).splitlines() if line.startswith(wanted)] == [
        "[program:a]",
        "stopsignal=INT",
        "stopwaitsecs=30",
        "priority=1",
        "[program:b]",
        "stopsignal=TERM",
        "stopwaitsecs=60",
        "priority=2",
    ]
