"""Adaptation: corrections of a model's forecasts that are learned while it runs."""
