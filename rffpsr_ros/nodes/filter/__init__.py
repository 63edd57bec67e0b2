"""The filter node: follows a robot and publishes what it will do next."""
