"""The predictive state controlled model, in the order of the paper."""
