"""Frozen values, the inputs and outputs of stages; every stage output is one of them, stored as JSON."""
