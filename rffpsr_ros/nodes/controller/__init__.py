"""The controller node: makes a robot follow a reference by what a learned model expects."""
