"""The predictive state at work: the filter's step and the predictor, for learning and live."""
