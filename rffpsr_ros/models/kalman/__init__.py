"""A linear model with inputs: a Kalman filter, by two-stage regression."""
