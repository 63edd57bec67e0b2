"""Arrays: their type, small inverses, packing, scores."""
