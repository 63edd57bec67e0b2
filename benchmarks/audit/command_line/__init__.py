"""The command line, asked for what makes no sense, where it cannot be done, by odd names."""
