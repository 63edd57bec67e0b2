"""From bags and a configuration to a model that can be served and saved."""
