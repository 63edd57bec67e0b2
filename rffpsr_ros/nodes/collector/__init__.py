"""The collector node: episodes recorded one after the other."""
