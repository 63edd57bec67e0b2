"""Refinement by backpropagation through time: losses, their gradients, and when to stop.

Paper, "Model refinement by local optimization". `window_refinement` is the paper's form, on the
error of a whole window; `rollout_refinement` the default, on the error of forecasts fed back.
"""
