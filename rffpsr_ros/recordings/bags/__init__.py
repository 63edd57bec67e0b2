"""Bags of all kinds read and written."""
