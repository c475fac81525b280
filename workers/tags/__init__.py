"""The stages of a tags job, and the building of the models that they need."""
