"""The language of a text: found by its frequent words, the same for the same texts."""

from stages.texts.languages import language_of

SENTENCES = {
    "catalan": "Les fulles del te es cullen a la primavera i després es deixen assecar amb molta cura.",
    "czech": "Čajové lístky se sbírají na jaře a potom se nechají na slunci, aby byly suché.",
    "danish": "Bladene bliver plukket om foråret, og derefter skal de tørre, før de kan sælges på markedet.",
    "dutch": "De bladeren worden in het voorjaar geplukt en daarna te drogen gelegd voor de verkoop.",
    "english": "The leaves are picked in spring, and after that they are left to dry before the sale.",
    "finnish": "Lehdet poimitaan keväällä, ja sen jälkeen ne kuivataan, mutta osa on myyty jo ennen sitä.",
    "french": "Les feuilles sont cueillies au printemps, puis elles sont séchées avant la vente sur le marché.",
    "german": "Die Blätter werden im Frühjahr gepflückt und dann getrocknet, bevor sie auf den Markt kommen.",
    "greek": "Τα φύλλα μαζεύονται την άνοιξη και μετά στεγνώνουν για να πουληθούν στην αγορά.",
    "hungarian": "A leveleket tavasszal szedik, és azután megszárítják, hogy el lehessen adni a piacon.",
    "italian": "Le foglie sono raccolte in primavera e poi lasciate ad asciugare prima della vendita.",
    "norwegian": "Bladene blir plukket om våren, og etter det blir de tørket før de selges på markedet.",
    "polish": "Liście zbiera się wiosną, a potem suszy się je na słońcu, zanim są sprzedawane na rynku.",
    "portuguese": "As folhas são colhidas na primavera e depois são secas antes da venda no mercado.",
    "romanian": "Frunzele sunt culese primăvara și apoi sunt uscate înainte de a fi vândute la piață.",
    "russian": "Листья собирают весной, а потом сушат на солнце, и только после этого продают на рынке.",
    "spanish": "Las hojas se recogen en primavera y después se dejan secar antes de la venta en el mercado.",
    "swedish": "Bladen plockas på våren och sedan torkas de innan de säljs på marknaden till kunderna.",
    "turkish": "Yapraklar ilkbaharda toplanır ve satılmadan önce güneşte bir süre kurutulur, bu çok önemlidir.",
    "ukrainian": "Листя збирають навесні, а потім сушать на сонці, і тільки після цього його продають.",
    "vietnamese": "Lá trà được hái vào mùa xuân và sau đó được phơi khô trước khi bán cho người dân.",
    "chinese": "茶叶在春天采摘，然后晒干出售。",
    "japanese": "茶葉は春に摘まれ、その後乾燥されて市場で売られます。",
    "korean": "찻잎은 봄에 따서 말린 다음 시장에서 팝니다.",
    "thai": "ใบชาเก็บในฤดูใบไม้ผลิแล้วตากแห้งก่อนขาย",
}


def test_a_sentence_is_enough_to_find_its_language() -> None:
    found = {language: language_of([f"# Tea 2019\n\n{text}"]) for language, text in SENTENCES.items()}
    assert found == {language: language for language in SENTENCES}


def test_the_language_of_several_texts_is_that_of_most_of_their_words() -> None:
    german, french = SENTENCES["german"], SENTENCES["french"]

    assert language_of([french, german, german]) == "german"
    assert language_of([french, german, french]) == "french"


def test_too_few_words_to_know_are_english() -> None:
    texts = ("", "1 2 3", "Tea", "Green leaves.", "alpha beta gamma")
    assert [language_of([text]) for text in texts] == ["english"] * len(texts)


def test_the_first_20_000_characters_of_a_text_and_200_000_of_all_are_read() -> None:
    english, german = "the leaves of tea " * 1_200, SENTENCES["german"] * 1_200

    assert language_of([english + german]) == "english"
    assert language_of([english] * 10 + [german] * 99) == "english"
    assert language_of([english] * 4 + [german] * 6) == "german"
