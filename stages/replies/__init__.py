"""Replies of language models: asked for until they can be used, and parsed."""
