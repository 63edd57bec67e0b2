"""What each kind of model computes, in the language of `export.graph`."""
