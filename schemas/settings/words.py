"""Values of settings as people read them."""


def value_in_words(value: object) -> str:
    """A value of a setting as it is shown: as it would be written in the environment, or `unset` or `empty`."""
    match value:
        case None:
            return "unset"
        case "":
            return "empty"
        case bool():
            return str(value).lower()
    return str(value)
