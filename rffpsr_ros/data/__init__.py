"""What is done to trajectories before a model learns from them."""
