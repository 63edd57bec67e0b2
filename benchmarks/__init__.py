"""Measurements of the package: data sets, comparisons and the paper's experiments."""
