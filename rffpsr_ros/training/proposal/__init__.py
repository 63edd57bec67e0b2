"""From bags to a configuration to begin with: what is in them, and what looks like a command."""
