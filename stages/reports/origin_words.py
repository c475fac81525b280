"""Where a run was submitted and computed, in words, wherever it is shown."""

from collections.abc import Iterator

from schemas.values.environments import EmbeddedTexts, Environment, FrozenModel, RunOrigin


def origin_words(origin: RunOrigin) -> Iterator[str]:
    """A line for each environment, each model, and the servers that no model names."""
    for one in origin.workers:
        yield f"Computed with {_environment(one.environment)}: {one.stages} stages."
    if origin.submitter is not None and origin.submitter not in [one.environment for one in origin.workers]:
        yield f"Submitted with {_environment(origin.submitter)}."
    for model in origin.models:
        yield _model(model)
    others = [server for server in origin.servers if server not in {model.identity.server for model in origin.models}]
    if others:
        yield f"Answers came from {', '.join(others)} too."
    for embedded in origin.embedded:
        yield _embedded(embedded)


def _embedded(found: EmbeddedTexts) -> str:
    reused = f", {found.reused:,} of them before: these texts were not computed again" if found.reused else ""
    return f"Embedded{f' in {found.dtype}' if found.dtype else ''}: {found.texts:,} texts{reused}."


def _environment(found: Environment) -> str:
    if found.git_commit is None:
        commit = ""
    else:
        commit = f" (commit {found.git_commit[:12]}{', modified' if found.git_dirty else ''})"
    hardware = ", ".join([found.cpu or "unknown processor", f"{found.cores} cores", *found.gpus])
    return f"ragq {found.ragq_version}{commit}, Python {found.python}, {found.platform}, {hardware}"


def _model(found: FrozenModel) -> str:
    quantization = f", {found.identity.quantization}" if found.identity.quantization else ""
    return f"Model {found.model}{quantization}: {found.identity.words}."
