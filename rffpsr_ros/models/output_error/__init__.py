"""A recurrence on a short window, learned to simulate."""
