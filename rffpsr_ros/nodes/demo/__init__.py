"""The live demonstration."""
