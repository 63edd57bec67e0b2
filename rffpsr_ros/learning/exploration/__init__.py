"""Whether recordings can teach a model: the theory's conditions as numbers and tests."""
