"""Learning that goes on: what is kept of it, and how new recordings are taken in."""
