"""The synthetic data set that ships with ragq: made up, labelled as such, the same for every seed."""
