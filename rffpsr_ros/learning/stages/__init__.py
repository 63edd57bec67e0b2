"""Two-stage regression: stage one, stage two, and the instances of the framework."""
