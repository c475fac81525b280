"""The eight symptoms in everyday language: the `similarity` extractor compares utterances with these sentences."""

from collections.abc import Mapping

from schemas.values.phq8 import PHQ8Item

DESCRIPTIONS: Mapping[PHQ8Item, tuple[str, ...]] = {
    PHQ8Item.NO_INTEREST: (
        "I don't enjoy the things I used to like.",
        "I have lost interest in my hobbies.",
        "Nothing is fun anymore.",
        "I don't feel like doing anything.",
        "I can't be bothered to go out or see friends.",
        "My hobbies just lie around untouched.",
        "I still enjoy my hobbies.",
        "I look forward to things.",
    ),
    PHQ8Item.DEPRESSED: (
        "I feel sad and down.",
        "Everything seems hopeless.",
        "I am depressed.",
        "I cry a lot.",
        "I feel empty and miserable.",
        "I don't see things getting better.",
        "My mood is good, I feel happy.",
        "I am not sad.",
    ),
    PHQ8Item.SLEEP: (
        "I can't fall asleep at night.",
        "I wake up in the middle of the night and lie awake.",
        "I wake up far too early.",
        "I sleep too much, even during the day.",
        "My sleep is bad.",
        "I only get a few hours of sleep.",
        "I sleep well through the night.",
        "I sleep eight hours without trouble.",
    ),
    PHQ8Item.TIRED: (
        "I am tired all the time.",
        "I have no energy.",
        "Small tasks wear me out.",
        "I am exhausted when I come home.",
        "I feel drained and worn out.",
        "I have to lie down and rest.",
        "I have plenty of energy.",
        "I don't feel tired.",
    ),
    PHQ8Item.APPETITE: (
        "I have no appetite.",
        "I hardly eat and skip meals.",
        "I overeat and snack all day.",
        "I eat when I am not hungry.",
        "I have lost or gained weight.",
        "Food has no taste for me.",
        "My appetite is normal.",
        "I eat regular meals.",
    ),
    PHQ8Item.FAILURE: (
        "I feel like a failure.",
        "I have let my family down.",
        "I feel worthless.",
        "I blame myself for everything.",
        "I am not good enough.",
        "I am ashamed of myself.",
        "I feel good about myself.",
        "I am proud of what I do.",
    ),
    PHQ8Item.CONCENTRATING: (
        "I can't concentrate on anything.",
        "I read the same page again and again.",
        "My mind wanders.",
        "I forget what I was doing.",
        "I can't follow a film or a conversation.",
        "I make mistakes because I am distracted.",
        "I can focus without trouble.",
        "My concentration is fine.",
    ),
    PHQ8Item.MOVING: (
        "I can't sit still.",
        "I fidget and pace around.",
        "I am restless and jumpy.",
        "I move more slowly than I used to.",
        "I speak so slowly that people notice.",
        "My body feels heavy and slow.",
        "I am calm and can sit still.",
        "Nobody says that I am slow or restless.",
    ),
}
"""Sentences per item, in the questionnaire's order; the last two of each state that the symptom is absent."""
