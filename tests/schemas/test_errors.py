"""What monitors get of errors."""

import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence

from billiard.einfo import ExceptionInfo
from celery.utils.serialization import get_pickleable_exception

from schemas import errors

PRIVATE = "I have not slept"
#: What constructors take: by annotation, or by name where it may be text of a person.
SAMPLES: dict[object, object] = {
    **dict.fromkeys((int, int | None, float, float | None), 7),
    **dict.fromkeys((str, str | None), "word"),
    bool: True,
    Sequence[int]: (7,),
    Sequence[str]: ("word",),
    tuple[str, ...]: ("word",),
    dict[str, str]: {"key": "word"},
    errors.FailureCategory | None: errors.FailureCategory.LLM_ERROR,
    Mapping[int, errors.WorkFileError]: {0: errors.WorkFileError("name", "problem")},
    "ModelMissingError": errors.ModelMissingError("server", "model", ()),
    "slug": "run-active",
    **dict.fromkeys(("raw_response", "detail", "title"), PRIVATE),
}


def tree(error: type[errors.RagqError]) -> Iterator[type[errors.RagqError]]:
    """A class and its subclasses: below the first base."""
    yield error
    for subclass in error.__subclasses__():
        if subclass.__module__ == errors.__name__ and subclass.__base__ is error:
            yield from tree(subclass)


def instance(error: Callable[..., errors.RagqError]) -> errors.RagqError:
    """An error whose constructor got a sample of everything that it names."""
    taken = [*inspect.signature(error).parameters.values()]
    named = [each for each in taken if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if not named and taken:
        return error("word")
    return error(**{each.name: SAMPLES.get(each.name) or SAMPLES[each.annotation] for each in named})


def test_monitors_get_every_error_by_its_own_name_and_without_text_of_a_person() -> None:
    for error in tree(errors.RagqError):
        made = instance(error)
        try:
            raise made
        except errors.RagqError as raised:
            sent = get_pickleable_exception(raised)
            shown = repr(sent) + str(ExceptionInfo().traceback)
        copy = pickle.loads(pickle.dumps(made))

        assert sent is made
        assert (type(copy), copy.args, vars(copy).keys()) == (error, made.args, vars(made).keys())
        assert PRIVATE not in shown
