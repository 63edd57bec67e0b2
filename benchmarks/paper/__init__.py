"""The experiments of the paper, a command each."""
