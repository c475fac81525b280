"""The synthetic data set of ragq: generated, labelled as such, reproducible for every seed."""
