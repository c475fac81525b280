"""Plots of reports, for the page of `ragq report --html` and for the pages of the API. Loading them takes a second."""
