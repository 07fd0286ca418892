#!/bin/sh
"$PYTHON" -m pip install ./emulation -vv --no-deps --no-build-isolation
