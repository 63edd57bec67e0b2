"""Running means of actions for what is slower than windows are long."""
