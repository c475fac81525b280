import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.errors import StackError
from stack.home import Home, Part
from stack.supervision import Supervisor, configuration
from tests.eventually import eventually

pytestmark = pytest.mark.servers


def sleeper(name: str) -> Part:
    return Part(name=name, command=[sys.executable, "-c", "import time; time.sleep(60)"])


def made(folder: Path) -> Home:
    home = Home(folder)
    home.make()
    return home


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    found = Supervisor(made(tmp_path))
    found.launch([sleeper("first")], os.environ)
    yield found
    found.shutdown()


def test_a_killed_part_is_started_again_and_keeps_running_when_others_are_new(supervisor: Supervisor) -> None:
    supervisor.start("first")
    killed = supervisor.parts()["first"].pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: supervisor.parts()["first"].pid not in (killed, None), timeout_s=15)

    pid = supervisor.parts()["first"].pid
    supervisor.apply([sleeper("first"), sleeper("second"), Part(name="broken", command=["/no/such/program"])])

    found = {name: part.pid for name, part in supervisor.parts().items()}
    assert found == {"first": pid, "second": None, "broken": None}
    with pytest.raises(StackError, match=r"broken cannot be started: .*can't find command"):
        supervisor.start("broken")


def test_a_supervisor_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"(?s)The supervisor did not start:.*no-such-user"):
        Supervisor(made(tmp_path)).launch([Part(name="broken", command=["true"], user="no-such-user")], os.environ)


def test_the_configuration_keeps_signs_that_supervisord_would_expand(tmp_path: Path) -> None:
    part = Part(name="odd", command=["run", "--name=a@%h", "two words"], environment={"URL": "redis://:p%40@h/0"})
    lines = configuration(Home(tmp_path), [part]).splitlines()
    assert "command=run --name=a@%%h 'two words'" in lines
    assert 'environment=URL="redis://:p%%40@h/0"' in lines


def test_later_parts_stop_first_each_with_its_signal_and_time(tmp_path: Path) -> None:
    parts = [Part(name="a", command=["a"], stop_signal=signal.SIGINT), Part(name="b", command=["b"], stop_timeout_s=60)]
    wanted = ("[program:", "priority=", "stopsignal=", "stopwaitsecs=")
    assert [line for line in configuration(Home(tmp_path), parts).splitlines() if line.startswith(wanted)] == [
        *("[program:a]", "stopsignal=INT", "stopwaitsecs=30", "priority=1"),
        *("[program:b]", "stopsignal=TERM", "stopwaitsecs=60", "priority=2"),
    ]
