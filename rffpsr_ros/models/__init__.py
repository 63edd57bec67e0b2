"""What is learned and can be run: one package a kind, all with the contract of `contract`."""
