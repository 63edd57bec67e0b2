"""RFF-PSR: a predictive state representation with random Fourier features."""
