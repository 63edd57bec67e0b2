"""Models that know nothing of the robot: the last observation, the mean."""
