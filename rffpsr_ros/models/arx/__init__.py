"""Linear autoregression with inputs (ARX)."""
