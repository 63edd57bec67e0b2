"""What is learned and can be run: every model keeps the contract of `predictive_model`."""
