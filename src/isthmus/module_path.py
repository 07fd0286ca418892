"""Takes folders of strangers off the module path, before anything is imported from there.

``python -m`` puts the working folder first on ``sys.path``, and ``PYTHONPATH`` comes before the
standard library: a file ``msgspec.py`` there would run in place of the installed package. This
module imports only what every Python has loaded when it starts, and not even ``__future__``.
"""

import os
import sys


def guard() -> list[str]:
    """Removes the working folder and the folders of ``PYTHONPATH`` from ``sys.path``.

    A folder stays that holds Isthmus, the standard library or installed packages, and a folder that
    an installed package added (an editable installation). ``PYTHONPATH`` stays where Isthmus itself
    comes from it. What Python has imported from a removed folder by now is forgotten, so that the
    next import finds the real module; it has run already. Returns the removed folders.
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
    """Folders of ``PYTHONPATH`` that are searched: none where Isthmus comes from elsewhere."""
    if not _comes_from_python_path():
        return []
    left_out = _doubtful() - _trusted()
    return [folder for folder in _python_path() if folder not in left_out]


def _comes_from_python_path() -> bool:
    return not _holding_isthmus().isdisjoint(_python_path())


def _before_the_library() -> list[str]:
    """Entries that a start or ``PYTHONPATH`` has put on ``sys.path``: installed ones follow."""
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
    except FileNotFoundError:  # the working folder is gone
        return folders


def _python_path() -> list[str]:
    # An empty name stands for the working folder, which is doubtful in any case.
    names = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [os.path.realpath(name) for name in names if name]


def _trusted() -> set[str]:
    site = sys.modules.get("site")  # none with -S
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
    """Folder from which a top-level module or package comes; empty for a built-in module."""
    file: str = getattr(module, "__file__", None) or ""
    if not file:
        return ""
    package = hasattr(module, "__path__")
    return os.path.realpath(os.path.dirname(os.path.dirname(file) if package else file))
