"""Recorded runs: trajectories, and bags read from and written to disk."""
