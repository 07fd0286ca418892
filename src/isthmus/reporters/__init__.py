"""Finds the reporters, which show a run as text: modules here that define ``REPORTER``.

Other packages add reporters by the entry point group ``isthmus.reporters``. The page is not a
reporter, because it consists of several files: see ``isthmus.reporters.html``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isthmus.errors import UsageError
from isthmus.registration import registered
from isthmus.reporters.base import Reporter
from isthmus.text import require_known

__all__ = ["Reporter", "by_name", "registry"]


@cache
def registry() -> Mapping[str, Reporter]:
    """Returns all reporters by name."""
    return registered(__name__, __path__, "REPORTER")


def by_name(name: str, *, samples: bool = False) -> Reporter:
    """Returns the reporter of this name.

    Raises UsageError for an unknown name. With ``samples``, also for a reporter without samples.
    """
    reporters = registry()
    reporter = reporters[require_known("format", name, reporters)]
    if samples and reporter.samples is None:
        able = ", ".join(other.name for other in reporters.values() if other.samples is not None)
        raise UsageError(f"format '{name}' shows no samples; {able} can")
    return reporter
