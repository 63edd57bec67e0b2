"""Models in other languages: one description of what a model computes, and a writer for each."""
