"""Observations on whose size a robot's law does not depend."""
