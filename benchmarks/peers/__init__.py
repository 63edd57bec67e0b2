"""Other people's methods on the package's contract, to compare with; see README.md."""
