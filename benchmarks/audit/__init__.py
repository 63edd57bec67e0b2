"""Hostile and odd inputs by the thousand, each answered as the package promises."""
