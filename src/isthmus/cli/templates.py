"""Fills the backends' templates of programs, which lie beside their descriptions."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.units import printable

if TYPE_CHECKING:
    from isthmus.backends import BackendDescription


def rendered(
    backend: BackendDescription | type[BackendDescription],
    template: str,
    address: str,
    memory: str,
    **values: object,
) -> str:
    """Fills a backend's template with these values and a kind of host memory.

    Raises UsageError if the template has no calls for that memory.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def unknown(memory: str) -> None:
        raise UsageError(f"no code for {memory} memory on {address}")

    def literal(text: str) -> str:
        """A C++ string literal, with octal escapes but for letters, digits and blanks."""
        kept = re.compile(rb"[^A-Za-z0-9 ]").sub(lambda b: b"\\%03o" % ord(b[0]), text.encode())
        return f'"{kept.decode()}"'

    def comment(text: str) -> str:
        """Text for a one-line C++ comment, without backslashes or trigraphs of backslashes."""
        return printable(text).replace("\\", "/").replace("?", ".")

    source = Path(inspect.getfile(backend if isinstance(backend, type) else type(backend)))
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, loader=FileSystemLoader(source.parent),
    )  # fmt: skip
    environment.filters.update(literal=literal, comment=comment)
    return environment.get_template(template).render(memory=memory, unknown=unknown, **values)
