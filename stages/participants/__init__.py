"""The stages of a participant job: few-shot retrieval for the eight PHQ-8 items."""
