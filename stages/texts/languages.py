"""The language of a text, by its most frequent words, or by its letters."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from schemas.full_text import ENGLISH, SIMPLE

FUNCTION_WORDS: Final = {
    language: frozenset(words.split())
    for language, words in {
        "arabic": "في من على إلى أن التي الذي هذا هذه عن مع كان ما لا هو هي أو كما قد لم بين كل بعد ذلك غير",
        "armenian": "և է են որ մեջ մի այս համար նա եւ իր էր ու թե կամ ինչ հետ բայց նաև որպես մասին ոչ պետք",
        "basque": "eta da ez du zen dira bat izan ere baina edo dela zuen beste hau hori duen den egin dute behar zer",
        "bulgarian": "и на се за да от в са с по че е като при не която който или но през което които до са ще това",
        "catalan": "de la i el que a els en les un una per del amb és al dels no es més com ha seva són però "
        "aquest aquesta o també molt quan fou",
        "croatian": "i je u se na da su za od s kao koji ili iz što ne po te koja bio sve samo ali prema bi nije",
        "czech": "a se v na je že s z o do to i ve pro jako by za od které který jsou ale není nebo při jeho bylo už",
        "danish": "og i at det er en til af på den for med som de der et ikke har var fra han men også kan om eller "
        "blev efter hun",
        "dutch": "de het een en van in is dat op te voor met die zijn niet aan er ook als bij door om naar ze werd of "
        "worden maar uit deze wordt",
        "english": "the of and to in a is that it for as was with be by on not he his are this at from or have an "
        "which they you but about how",
        "estonian": "ja on ei et oli kui see ka mis oma ta aga või ning selle nad kes välja ning oli pole siis mida",
        "finnish": "ja on ei että se oli hän joka mutta myös ovat kuin sen tai kun mukaan jos niin ole hänen jotka "
        "sekä voi vain",
        "french": "de la le et les des en un une du que est dans qui pour par sur pas au plus il ce ne se avec son "
        "sont aux ou cette mais",
        "german": "der die und in den von zu das mit sich des auf ist im dem nicht ein eine als auch es an werden aus "
        "er hat dass sie nach wird bei oder wie",
        "greek": "και το της η του να των με για στην από που είναι οι στο τα ο ένα θα δεν μια τον αυτό σε",
        "hebrew": "של את על לא הוא זה עם היא כי גם או אל אם כל יותר היה אך בין הם אשר",
        "hindi": "के में की है और से का को पर इस एक यह कि भी हैं था लिए जो ने ही या थे तो नहीं",
        "hungarian": "a az és hogy nem is egy volt meg csak mint ez vagy már el azt még de ha van kell során ki ezt "
        "amely amelyek pedig",
        "indonesian": "yang dan di dari untuk dengan pada ini dalam adalah itu tidak ke sebagai oleh atau juga akan "
        "tersebut mereka bisa telah",
        "irish": "an na agus ar is i le a ag bhí sé go tá don leis ach atá nó mar chun ina faoi siad níl sin",
        "italian": "di e il la che in un per è una del non con sono da della si le i come dei anche al nel alla più "
        "gli ma o questo delle",
        "latvian": "un ir ka no ar par uz kas tika tā bija kā vai pie pēc tas šis nav bet gan arī tiek kurš līdz",
        "lithuanian": "ir yra kad į iš su buvo tai kaip ne bet jo nuo ar dėl už jis po apie per prie kurie taip tik",
        "nepali": "र छ को मा पनि यो भने छन् लागि गर्न हो एक थियो तर गरेको गर्ने तथा भएको यस छैन",
        "norwegian": "og i det er en til på av for med som at den ikke har de var et fra han men også kan om eller "
        "ble etter hun være mellom",
        "persian": "و در به از که این را با است برای آن یک می بود شد های تا هم بر یا خود شده",
        "polish": "i w na się nie z do że jest to o jak za po co od ale przez dla są oraz tym który jego był może "
        "lub ich które tego",
        "portuguese": "de a o que e do da em um para com não uma os no se na por mais as dos como mas ao foi das ou "
        "são é também pelo",
        "romanian": "de și în a la cu o că pe care din nu este un mai se pentru sau fost prin sunt ca după dar "
        "această ale lui",
        "russian": "и в не на с что он по как это от из за к для то о был его а у до так или же при но были которые "
        "является",
        "serbian": "и је у се на да су за од са као који или из што не по та која био све само али према би није",
        "slovak": "a sa v na je že s z o do to aj vo pre ako by za od ktoré ktorý sú ale nie alebo pri jeho bolo už",
        "slovenian": "in je v na se da so za od s kot ki ali iz kar ne po ter ki bil pa tudi je bila pri še ni",
        "spanish": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha "
        "fue este entre son",
        "swedish": "och i att det är en som på för av med den till inte har de om ett var han men från också kan "
        "eller vid efter hon när",
        "tamil": "ஒரு மற்றும் இந்த என்று அது என இது அந்த இருந்து வேண்டும் உள்ள தான் என்ற கொண்டு போது வரை",
        "turkish": "ve bir bu da de için ile olarak çok daha olan gibi en ne kadar var sonra o ama ya veya değil "
        "tarafından ise her",
        "ukrainian": "і в не на з що він як це від із за до для та о був його а у так або же при але були які є про",
        "urdu": "کے میں کی ہے اور سے کا کو پر اس ایک یہ کہ بھی ہیں تھا لیے جو نے ہی یا تھے تو نہیں",
        "vietnamese": "là và của các có trong được cho một với những người để không này đã khi từ theo như cũng trên",
        "yiddish": "און איז די אין פון דער צו אַ מיט אויף האָט ער דאָס נישט וואָס זענען געווען אויך פאַר ווי",
    }.items()
}  # fmt: skip
"""About twenty words of each; Chinese, Japanese, Korean and Thai are known by their letters."""


READ_CHARS: Final = 200_000
"""Of all texts together."""

_READ_OF_ONE: Final = 20_000
_FEW_WORDS: Final = 20
"""Of fewer words the language is not doubted: without a frequent word of any language they are English."""
_LEAST_SHARE: Final = 0.08
"""Of the words of a text that are frequent words of its language."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = {
    "japanese": re.compile(r"[\u3040-\u30ff]"),
    "korean": re.compile(r"[\uac00-\ud7af]"),
    "thai": re.compile(r"[\u0e01-\u0e5b]"),
    "chinese": re.compile(r"[\u4e00-\u9fff]"),
}
_LEAST_LETTERS: Final = 0.1
"""Of the characters of words: Japanese has Chinese characters too, and is looked for first."""


def language_of(texts: Iterable[str]) -> str:
    """The language that texts have in common; `simple` for one that is not known.

    The beginnings of the texts are read, in time that is linear in their length. The same texts have the same language.

    >>> language_of(["Die Blätter werden nach der Ernte gerollt."]), language_of(["Tea."])
    ('german', 'english')
    """
    words: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    left = READ_CHARS
    for text in texts:
        read = text[: min(left, _READ_OF_ONE)]
        left -= len(read)
        words.update(word.lower() for word in _WORD.findall(read))
        letters.update({language: len(pattern.findall(read)) for language, pattern in _LETTERS.items()})
        if not left:
            break
    characters = sum(len(word) * times for word, times in words.items())
    for language in _LETTERS:
        if characters and letters[language] >= _LEAST_LETTERS * characters:
            return language
    known = {name: sum(words[word] for word in frequent) for name, frequent in FUNCTION_WORDS.items()}
    best = max(sorted(known), key=lambda name: (known[name], name == ENGLISH))
    if known[best] >= max(_LEAST_SHARE * words.total(), 1):
        return best
    return ENGLISH if words.total() < _FEW_WORDS and not any(map(_is_foreign, words)) else SIMPLE


def _is_foreign(word: str) -> bool:
    """Letters of another alphabet than English has."""
    return any(letter > "\u024f" for letter in word)
