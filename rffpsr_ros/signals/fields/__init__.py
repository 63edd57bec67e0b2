"""Field paths: their grammar, their functions, and how they are bound to messages."""
