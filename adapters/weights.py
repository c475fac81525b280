"""The weight files of a model folder, and their digest."""

import hashlib
from pathlib import Path

from adapters.packaged import sha256_of


def weights_digest(folder: Path) -> str:
    """The SHA-256 of a single weight file, or over the names and hashes of several.

    Raises FileNotFoundError for a folder without any.
    """
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
