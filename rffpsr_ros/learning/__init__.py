"""The paper in its own order: windows, features, stage one, stage two, refinement."""
