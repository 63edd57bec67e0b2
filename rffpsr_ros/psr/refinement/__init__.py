"""Backpropagation through time: losses, their gradients, and how long to go on."""
