"""From bags and a configuration to a model that can be saved and run live."""
