"""Recordings as windows of the past and the extended future, and passes over them."""
