"""The learner node: records episodes and trains on them."""
