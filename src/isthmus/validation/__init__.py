"""The models against published figures: points, fits, residual table."""
