"""A model of many observations through a few principal components."""
