"""Features of histories, observations and actions, and their projections."""
