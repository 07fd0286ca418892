"""The models against every published hardware figure: points, fits, residual table."""
