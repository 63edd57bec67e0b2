"""The simulator node: a simulated robot on topics."""
