"""Defines the command line: each command is a module of this package, and this file joins them."""

from __future__ import annotations

import contextlib
import errno
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from isthmus.cli import (
    advise,
    anonymise,
    card,
    cite,
    compare,
    devices,
    doctor,
    export,
    fleet,
    importing,
    judge,
    model,
    repeat,
    report,
    reproduce,
    run,
    show,
)
from isthmus.cli.declared import DeclaringCommand
from isthmus.cli.study_help import StudyCommand
from isthmus.command import App, Command
from isthmus.errors import IsthmusError
from isthmus.output import inform, put, warn
from isthmus.system import launcher
from isthmus.text import shortened

_TYPERS_INTERRUPT = 130

app = App(
    name="isthmus",
    help="Measures, explains and judges the crossing between a host and its accelerators.",
    epilog="--verbose with any command shows where an error came from.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from isthmus import __version__

        put(f"isthmus {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="print the version and end"
        ),
    ] = False,
) -> None:
    """Measures, explains and judges the crossing between a host and its accelerators."""


_COMMANDS: tuple[tuple[str, Callable[..., object], type[Command], str], ...] = (
    ("devices", devices.devices, Command, "What is here, what each can do, what is missing."),
    ("doctor", doctor.doctor, Command,
     "Check what keeps a device from its best; measures nothing."),
    ("judge", judge.judge_files, Command,
     "Say whether what another tool printed is normal, and why not."),
    ("run", run.run, StudyCommand,
     "Measure a study on devices. A study's axes are also options, such as --bytes 1:4Ki: "
     "isthmus run STUDY --help lists them."),
    ("repeat", repeat.repeat, repeat.PermittingCommand,
     "Measure again as a run was measured, and say what changed."),
    ("show", show.show, Command, "Show what a run found; or its points, as a table or as data."),
    ("report", report.report, Command, "Write a self-contained page about run files."),
    ("export", export.export, Command, "Write a run's rows or samples as CSV, JSON or Parquet."),
    ("compare", compare.compare, Command,
     "Say what changed between runs: faster, slower, the same."),
    ("import", importing.import_files, Command,
     "Make run files of outputs of other programs: nvbandwidth, clpeak, OSU, ..."),
    ("fleet", fleet.fleet, Command, "Say which of many machines are slower than their like."),
    ("cite", cite.cite, Command, "Write BibTeX and a paragraph on the method for a paper."),
    ("advise", advise.advise, DeclaringCommand,
     "Say which API, memory and number of transfers in flight move data of SIZE best, "
     "from run files or from a short measurement of --device."),
    ("reproduce", reproduce.reproduce, DeclaringCommand,
     "Show published figures beside Isthmus's own: on the emulated card at once, on a board with "
     "--device. Without a name: the list of all figures, and how far each is reproduced."),
    ("anonymise", anonymise.anonymise, Command,
     "Write a copy of a run file without host names, serial numbers, UUIDs, network "
     "addresses, users and paths; all figures stay."),
)  # fmt: skip
"""Name, function, class and help of each command, in the order of the help."""
for _name, _function, _class, _help in _COMMANDS:
    app.command(name=_name, cls=_class, help=_help)(_function)
for _group in (model, card):
    _group.add_to(app)


def main() -> NoReturn:
    """Runs the command line; an error becomes one line on stderr and a known exit code."""
    words = sys.argv[1:]
    ours = words.index("--") if "--" in words else len(words)  # words of another program follow
    arguments = [word for word in words[:ours] if word != "--verbose"] + words[ours:]
    verbose = len(arguments) < len(words)
    # SIGTERM ends like Ctrl-C: points that were measured so far are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(args=arguments, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        _end("interrupted", 1)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        if verbose:
            inform(traceback.format_exc())
        # Typer formats its own errors. Their class depends on whether Typer contains its own click.
        if isinstance(error, IsthmusError):
            _end(str(error), error.exit_code, error.detail)
        if isinstance(error, ModuleNotFoundError) and error.name and (name := _extra(error.name)):
            _end(f"{error.name} is not installed: pip install 'isthmus[{name}]'", 2)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            _end(f"{shortened(str(error.filename))}: {error.strerror}", 2)
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            _end(error.format_message(), error.exit_code)
        _end(f"{type(error).__name__}: {error} (--verbose shows where)", 1)
    if code == _TYPERS_INTERRUPT:
        _end("interrupted", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _extra(module: str) -> str:
    """The extra of this package that installs a module; empty if no extra does."""
    import re
    from importlib import metadata

    name = re.escape(module.partition(".")[0].replace("_", "-"))
    of_extra = re.compile(rf"{name}(?:-python)?[^\w-].*extra == [\"']([\w-]+)[\"']", re.IGNORECASE)
    for requirement in metadata.requires("isthmus") or ():
        if match := of_extra.match(requirement):
            return match[1]
    return ""


def _end(message: str, code: int, detail: str = "") -> NoReturn:
    place = launcher.place()
    if place and place.rank:  # only rank 0 prints the error; other ranks first wait for it
        with contextlib.suppress(KeyboardInterrupt):  # an interrupt while waiting is ignored
            time.sleep(launcher.REPORT_S)
        sys.exit(code)
    warn(" ".join(message.splitlines()))
    if detail:
        inform("\n".join(detail.splitlines()))
    sys.exit(code)
