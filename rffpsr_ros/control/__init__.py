"""Control by forecasts: commands that make a robot follow a reference, and when to send none."""
