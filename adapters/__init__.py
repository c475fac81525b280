"""Embedders, rerankers and language models. Each implements one port of stages/ports.py."""
