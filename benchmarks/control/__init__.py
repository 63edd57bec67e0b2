"""Closed loops: what a controller with a learned model does beside others, see `__main__`."""
