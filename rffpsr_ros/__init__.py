"""Learn how a robot responds to commands from its recorded topics, and predict its future live."""

__version__ = "0.1.0"
