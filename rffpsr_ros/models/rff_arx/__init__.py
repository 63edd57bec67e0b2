"""RFF-ARX: autoregression on random Fourier features of a window."""
