"""Bags in both storages, each with something that no recorder writes."""
