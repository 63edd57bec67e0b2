"""The excitation node: commands from which a response can be learned."""
