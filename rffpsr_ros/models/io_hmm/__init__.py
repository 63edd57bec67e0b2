"""An input-output hidden Markov model in predictive form."""
