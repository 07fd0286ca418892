"""The program ``isthmus``, and ``python -m isthmus``.

No import may precede ``module_path.guard``, not even of ``__future__``. Before the call, Python
could load a file of the working folder in place of an installed module.
"""

import sys

_NOT_SEARCHED = []
try:
    from isthmus import module_path

    _NOT_SEARCHED = module_path.guard()
    from isthmus.cli import main
except ModuleNotFoundError as error:
    hint = f"; not searched: {', '.join(_NOT_SEARCHED)}" if _NOT_SEARCHED else ""
    sys.exit(f"isthmus: {error}{hint}")
except KeyboardInterrupt:
    sys.exit("isthmus: interrupted")

if __name__ == "__main__":
    main()
