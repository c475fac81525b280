"""Who is asked: embedders, rerankers and language models. Each satisfies one port of stages/ports.py."""
