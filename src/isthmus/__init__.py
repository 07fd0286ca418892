"""Isthmus measures, explains and judges the crossing between a host and its accelerators."""

# No import here: ``module_path`` must first remove strangers' folders from ``sys.path``.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from isthmus.analysis.loaded import LoadedRun

__all__ = ["__version__", "load"]
__version__ = "0.1.0"


def load(path: "str | Path") -> "LoadedRun":
    """Reads a run file. Raises ``isthmus.errors.UsageError`` for a file of another kind."""
    from isthmus.analysis.loaded import LoadedRun  # noqa: PLC0415 - commands that need no analysis

    return LoadedRun(path)
