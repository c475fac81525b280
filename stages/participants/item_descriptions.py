"""The eight symptoms as people say them: what the `similarity` extractor compares utterances with."""

from collections.abc import Mapping

from schemas.values.phq8 import PHQ8Item

DESCRIPTIONS: Mapping[PHQ8Item, tuple[str, ...]] = {
    PHQ8Item.NO_INTEREST: (
        "I don't enjoy the things I used to like.",
        "I have lost interest in my hobbies.",
        "Nothing is fun anymore and I don't feel like doing anything.",
        "I still look forward to things and enjoy my hobbies.",
    ),
    PHQ8Item.DEPRESSED: (
        "I feel sad and down most of the time.",
        "Everything seems hopeless to me.",
        "I have been depressed and I cry a lot.",
        "My mood has been good and I feel happy.",
    ),
    PHQ8Item.SLEEP: (
        "I can't fall asleep at night.",
        "I wake up in the middle of the night and lie awake.",
        "I sleep far too much, even during the day.",
        "I have been sleeping well.",
    ),
    PHQ8Item.TIRED: (
        "I am tired and exhausted all the time.",
        "I have no energy to get through the day.",
        "Even small tasks wear me out.",
        "I have plenty of energy.",
    ),
    PHQ8Item.APPETITE: (
        "I have no appetite and hardly eat.",
        "I overeat and snack all day.",
        "I have been losing or gaining weight because of how I eat.",
        "My appetite is normal and I eat regular meals.",
    ),
    PHQ8Item.FAILURE: (
        "I feel like a failure.",
        "I have let my family and myself down.",
        "I feel worthless and blame myself for everything.",
        "I feel good about myself and proud of what I do.",
    ),
    PHQ8Item.CONCENTRATING: (
        "I can't concentrate on anything.",
        "I read the same page again and again because my mind wanders.",
        "I lose track of what I am doing or what people say.",
        "I can focus on my work without trouble.",
    ),
    PHQ8Item.MOVING: (
        "I am so restless that I can't sit still.",
        "I fidget and pace around all the time.",
        "I move and speak more slowly than I used to, and others notice.",
        "I am calm and can sit still.",
    ),
}
"""Several sentences per item, in the questionnaire's order; the last of each says that the symptom is absent."""
