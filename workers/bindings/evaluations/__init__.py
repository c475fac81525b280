"""Bindings of the stages that evaluate answers."""
