"""The names of values of a preset, such as `retrieval.dense_limit`, beside those of settings."""


def is_preset_name(name: str) -> bool:
    """Whether a name of a run's snapshot is that of a preset's value: names of settings have no dot."""
    return "." in name
