"""The filter's step and the predictor as they run live: by NumPy, and compiled."""
