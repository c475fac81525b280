"""What is known without asking a server: settings, this machine, ports."""

import os
import shutil
from collections.abc import Mapping

from schemas.errors import SettingsError, StackError
from schemas.settings.layers import ENV_FILE, SettingSource
from schemas.settings.process import effective_process
from schemas.settings.resolve import resolve
from services.doctor.findings import Finding, Findings, Verdict, shown
from stack.environment import this_environment
from stack.home import find_home
from stack.parts import PORT_SETTINGS, in_order
from stack.ports import holder, is_free
from stack.supervision import SUPERVISOR, Supervisor

GB = 1e9
LOW_GB, TOO_LOW_GB = 5.0, 1.0


def check_version(environment: Mapping[str, str]) -> Findings:
    """The versions here, which workers elsewhere are compared with."""
    here = this_environment()
    commit = (
        "" if here.git_commit is None else f", commit {here.git_commit[:7]}{' with changes' * bool(here.git_dirty)}"
    )
    yield Finding("ragq", Verdict.OK, f"{here.ragq_version}{commit}, Python {here.python}, {here.cores} cores")


def check_settings(environment: Mapping[str, str]) -> Findings:
    """The profile of a submission, and names that have no effect."""
    try:
        settings = resolve(environment=os.environ, env_file=ENV_FILE)
        effective_process(os.environ, ENV_FILE)
    except SettingsError as error:
        for problem in error.problems:
            yield Finding("settings", Verdict.FAIL, shown(problem), "`ragq config reference` lists what each accepts.")
        return
    changed = ", ".join(f"{name}={shown(change.value)}" for name, change in settings.changed.items())
    more = f"; changed: {changed}" if changed else ""
    yield Finding("profile", Verdict.OK, f"{settings.profile}: {settings.profile_source}{more}")
    for warning in settings.warnings:
        yield Finding("settings", Verdict.WARN, shown(warning), "`ragq config check` explains every name.")


def check_disk(environment: Mapping[str, str]) -> Findings:
    """Room for the data of the embedded servers."""
    folder = find_home(environment).folder
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        yield Finding("disk", Verdict.FAIL, f"{folder}: {error.strerror}", "Set RAGQ_HOME to a folder of your own.")
        return
    free = shutil.disk_usage(existing).free / GB
    verdict = Verdict.FAIL if free < TOO_LOW_GB else Verdict.WARN if free < LOW_GB else Verdict.OK
    remedy = "" if verdict is Verdict.OK else "Free some, or set RAGQ_HOME to a folder on another disk."
    yield Finding("disk", verdict, f"{free:.1f} GB free for {folder}", remedy)


def check_stack(environment: Mapping[str, str]) -> Findings:
    """The embedded stack, its parts and their ports."""
    home = find_home(environment)
    try:
        state = home.read_state()
    except StackError as error:
        yield Finding("stack", Verdict.FAIL, shown(error), "See the sentence: it says what to do.")
        return
    if state is None:
        yield Finding("stack", Verdict.WARN, f"nothing runs in {home.folder}", "`ragq up` starts it.")
    else:
        supervisor = Supervisor(home)
        parts = supervisor.parts() if supervisor.is_running() else {}
        up = {name for name, part in parts.items() if part.is_up}
        down = in_order(name for name in state.parts if name not in up and name != SUPERVISOR)
        ports = ", ".join(f"{name} {part.port}" for name, part in state.parts.items() if part.port)
        if down:
            remedy = f"`ragq logs {down[0]}` shows why; `ragq up` starts what does not run."
            yield Finding("stack", Verdict.FAIL, f"not running: {', '.join(down)}", remedy)
        else:
            yield Finding("stack", Verdict.OK, f"{len(up)} parts run; ports: {ports}")
    yield from _chosen_ports({} if state is None else {name: part.port for name, part in state.parts.items()})


def _chosen_ports(running: Mapping[str, int | None]) -> Findings:
    try:
        settings, sources = effective_process(os.environ, ENV_FILE)
    except SettingsError:
        return
    for part, port in {"api": settings.ragq_api_port, "flower": settings.ragq_flower_port}.items():
        name = PORT_SETTINGS[part]
        if sources[name] is SettingSource.DEFAULT or running.get(part) == port or is_free(port):
            continue
        yield Finding(
            "ports", Verdict.WARN, f"{name} is {port}, which {holder(port)} holds", f"Set {name} to another port."
        )
