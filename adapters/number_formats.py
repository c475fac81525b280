"""The number format that the device of this machine multiplies fastest, without a loss that search quality shows."""


def fitting_dtype() -> str:
    """`bfloat16` where the processor has AMX or AVX-512 for it, or the GPU supports it; `float16` on other GPUs.

    Otherwise `float32`: processors without these instructions compute a shorter format more slowly. Imports torch.
    """
    import torch
    from sentence_transformers.util import get_device_name

    device = get_device_name()
    if device == "cpu":
        has = torch.cpu.get_capabilities()
        return "bfloat16" if has.get("amx_bf16") or has.get("avx512_bf16") else "float32"
    if device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return "bfloat16"
    return "float16"
