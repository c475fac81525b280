"""Queries, their answers, and the presets and prompt templates that they are asked with."""
