"""Compares the models with published figures: points, fits, residual table."""
