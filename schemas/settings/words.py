"""Values of settings in words."""


def value_in_words(value: object) -> str:
    """A value of a setting as written in the environment, or `unset` or `empty`."""
    match value:
        case None:
            return "unset"
        case "":
            return "empty"
        case bool():
            return str(value).lower()
    return str(value)
