"""The weights that the embedded language model computes with: the packaged ones, converted once.

The packaged file is in Q4_1, for which llama.cpp has no fast kernel. The same numbers in Q8_0 take 50 MB more, and
prompts a third less processor time. docs/decisions/embedded-llm.md has the figures.
"""

import fcntl
import math
import os
from pathlib import Path

from platformdirs import user_cache_path

from adapters.weights import llm_file, sha256_of
from schemas.errors import StackError

_ARCHITECTURE = "general.architecture"
_FILE_TYPE = "general.file_type"
_MB = 1_000_000


def embedded_weights() -> Path:
    """The GGUF file that the embedded language model is loaded from, in the user's cache.

    Raises StackError when the package of the weights is not installed, and when the file cannot be written.
    """
    return converted(llm_file(), user_cache_path("ragq"))


def converted(packaged: Path, folder: Path) -> Path:
    """The file with its Q4_1 matrices in Q8_0, in `folder`: made where it is not there yet, by one process at a time.

    It has its name only when it is whole: a conversion that was interrupted leaves a `.part`, which the next one
    overwrites. Other weights get another name. Raises StackError when the folder cannot be written.
    """
    whole = folder / f"{packaged.name.partition('.')[0]}.Q8_0-{sha256_of(packaged)[:16]}.gguf"
    if whole.exists():
        return whole
    part = whole.with_suffix(".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with part.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                _convert(packaged, part)
                _sync(part)
                part.replace(whole)
    except OSError as error:
        raise StackError(
            f"The weights of the embedded language model cannot be written to {folder} ({error.strerror}). They take "
            f"about {2 * packaged.stat().st_size // _MB} MB. Make room there, or set XDG_CACHE_HOME to another folder."
        ) from error
    return whole


def _convert(packaged: Path, to: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, quants

    slow, fast = GGMLQuantizationType.Q4_1, GGMLQuantizationType.Q8_0
    reader = GGUFReader(packaged)
    writer = GGUFWriter(to, reader.fields[_ARCHITECTURE].contents())
    for field in reader.fields.values():
        # The writer has written the architecture, and writes the header, whose fields the reader calls GGUF.*, itself.
        if field.name != _ARCHITECTURE and not field.name.startswith("GGUF."):
            value = int(LlamaFileType.MOSTLY_Q8_0) if field.name == _FILE_TYPE else field.contents()
            inner = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, value, field.types[0], inner)
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        size, shape = data.nbytes, data.shape
        if kind is slow:
            kind, shape = fast, quants.quant_shape_to_byte_shape(tensor.shape.tolist()[::-1], fast)
            size = math.prod(shape)
        writer.add_tensor_info(tensor.name, shape, data.dtype, size, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    # One matrix in memory at a time: the server of the model converts.
    for tensor in reader.tensors:
        data = tensor.data
        writer.write_tensor_data(
            quants.quantize(quants.dequantize(data, slow), fast) if tensor.tensor_type is slow else data
        )
    writer.close()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
