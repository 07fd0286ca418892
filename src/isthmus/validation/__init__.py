"""Compares predictions of the models with published figures, and fits boards to the figures."""
