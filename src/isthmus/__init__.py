"""Isthmus measures, explains and judges the crossing between a host and its accelerators."""

__version__ = "0.1.0"
