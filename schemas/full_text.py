"""The languages of corpora: how the full text of each is read, and how its sentences end."""

from typing import Final

AUTO: Final = "auto"
"""In the place of a language: the one of the first text that is imported."""

ENGLISH: Final = "english"

SIMPLE: Final = "simple"
"""Postgres's configuration without a dictionary: words as they are, in lower case. Also the language of a text whose
language is not known."""

DICTIONARIES: Final = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "danish": "da", "dutch": "nl", "english": "en",
    "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "irish": "ga", "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip
"""Languages that Postgres has a dictionary for: the name of the configuration, and the code of the language."""

OTHERS: Final = {
    "bulgarian": "bg", "chinese": "zh", "croatian": "hr", "czech": "cs", "estonian": "et", "hebrew": "he",
    "japanese": "ja", "korean": "ko", "latvian": "lv", "persian": "fa", "polish": "pl", "slovak": "sk",
    "slovenian": "sl", "thai": "th", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
}  # fmt: skip
"""Languages that it has none for: their full text is read by `simple`."""

LANGUAGES: Final = DICTIONARIES | OTHERS | {SIMPLE: "en"}
"""Each language with the code by which its sentences are split."""


def configuration_of(language: str) -> str:
    """Postgres's text search configuration of a language.

    >>> configuration_of("german"), configuration_of("polish")
    ('german', 'simple')
    """
    return language if language in DICTIONARIES else SIMPLE


def language_words(language: str | None) -> str:
    """The language of a corpus in words; None is one that is not found yet.

    >>> language_words("german"), language_words("simple")
    ('language german', 'no language known: full text without a dictionary')
    >>> language_words("polish")
    'language polish, which has no dictionary here: full text matches words as they are written'
    """
    match language:
        case None:
            return "language not known before the first work is stored"
        case "simple":
            return "no language known: full text without a dictionary"
        case _ if language in DICTIONARIES:
            return f"language {language}"
    return f"language {language}, which has no dictionary here: full text matches words as they are written"
