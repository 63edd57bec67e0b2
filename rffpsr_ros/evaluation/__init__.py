"""How good a model is: errors by horizon, comparisons and their reports."""
