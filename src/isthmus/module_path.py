"""Removes strangers' folders from the module path before Isthmus imports anything from them.

``python -m`` puts the working folder first on ``sys.path``, and ``PYTHONPATH`` comes before the
standard library: a file ``msgspec.py`` in these folders would run instead of the installed package.
This module therefore imports only modules that Python has loaded at its start, and no
``__future__``.
"""

import os
import sys


def guard() -> list[str]:
    """Removes the working folder and the folders of ``PYTHONPATH`` from ``sys.path``.

    Folders with Isthmus, the standard library or installed packages stay, as do folders that an
    installed package added (an editable installation). ``PYTHONPATH`` stays if Isthmus itself comes
    from it. A module that Python already imported from a removed folder has run; ``guard`` forgets
    it, so that the next import finds the real module. Returns the removed folders.
    """
    removed = []
    for entry in _before_the_library():
        folder = os.path.realpath(entry)
        if folder in _doubtful() and folder not in _trusted():
            sys.path.remove(entry)
            removed.append(folder)
    _forget_modules_of(removed)
    return removed


def kept_of_python_path() -> list[str]:
    """Folders of ``PYTHONPATH`` that stay on the module path; none unless Isthmus is in one."""
    if not _comes_from_python_path():
        return []
    left_out = _doubtful() - _trusted()
    return [folder for folder in _python_path() if folder not in left_out]


def _comes_from_python_path() -> bool:
    return not _holding_isthmus().isdisjoint(_python_path())


def _before_the_library() -> list[str]:
    """Entries of ``sys.path`` before the standard library: working folder and ``PYTHONPATH``."""
    library = _library()
    before = []
    for entry in sys.path:
        if os.path.realpath(entry) == library:
            break
        before.append(entry)
    return before


def _library() -> str:
    """Folder of the standard library."""
    return os.path.realpath(os.path.dirname(os.__file__))


def _doubtful() -> set[str]:
    folders = set() if _comes_from_python_path() else set(_python_path())
    try:
        return {*folders, os.path.realpath(os.getcwd())}
    except FileNotFoundError:  # the working folder was deleted
        return folders


def _python_path() -> list[str]:
    # Leave out empty names: they denote the working folder, which ``_doubtful`` adds itself.
    names = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [os.path.realpath(name) for name in names if name]


def _trusted() -> set[str]:
    site = sys.modules.get("site")  # python -S does not load it
    installed: list[str] = getattr(site, "getsitepackages", list)()
    if getattr(site, "ENABLE_USER_SITE", False):
        installed += [getattr(site, "USER_SITE", None) or ""]
    return {*map(os.path.realpath, filter(None, installed)), _library(), *_holding_isthmus()}


def _holding_isthmus() -> set[str]:
    package = sys.modules[__package__]
    return {os.path.realpath(os.path.dirname(folder)) for folder in package.__path__}


def _forget_modules_of(folders: list[str]) -> None:
    foreign = {
        name
        for name, module in list(sys.modules.items())
        if "." not in name and name != "__main__" and _folder_of(module) in folders
    }
    for name in list(sys.modules):
        if name.partition(".")[0] in foreign:
            del sys.modules[name]


def _folder_of(module: object) -> str:
    """Folder with the file of a top-level module or package; empty for a built-in module."""
    file: str = getattr(module, "__file__", None) or ""
    if not file:
        return ""
    package = hasattr(module, "__path__")
    return os.path.realpath(os.path.dirname(os.path.dirname(file) if package else file))
