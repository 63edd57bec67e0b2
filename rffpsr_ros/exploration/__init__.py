"""Whether recordings can teach a model: the conditions of the theory as numbers and tests."""
