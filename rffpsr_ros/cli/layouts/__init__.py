"""Layouts for the programs that draw topics: what the filter publishes beside what was measured."""
