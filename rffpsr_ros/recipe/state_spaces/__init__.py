"""Nonlinear state spaces in the ensemble: who competes, learned how far, and who takes part."""
