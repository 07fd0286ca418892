"""Shows the findings of a run on one screen: at most 25 lines of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from isthmus import backends, studies
from isthmus.analysis import wording
from isthmus.analysis.commands import is_address, ranks_of, resumed
from isthmus.analysis.context import RunContext
from isthmus.analysis.findings import Finding, findings
from isthmus.analysis.flags import disturbed
from isthmus.analysis.host_state import variation
from isthmus.analysis.reproduction import rows_of_card
from isthmus.analysis.summary import BELOW_RESOLUTION
from isthmus.columns import command_lines, fitted, line_width
from isthmus.frames import Frame
from isthmus.models.pcie import link_of
from isthmus.program import Invocation, invocation, option_words, shorter
from isthmus.reporters.base import Reporter
from isthmus.results.run_file import QUICK_PROCESSES, DeviceRecord, Run
from isthmus.text import counted, cut_middle
from isthmus.thresholds import QUICK
from isthmus.units import format_size, printable

LINES, COLUMNS = 25, 80
HYBRID = "hybrid: an API's software, measured here, plus the card's time, simulated"
_LABEL = 33
_FIGURE = 10
_STUDY = 10
_COMMAND = 10
_MINUTES_FROM_S = 120
_MOST_ADDRESSES = 3
"""Most addresses of alike devices in the title; else only the first and the last are shown."""
_LEAST_ROWS = 6
"""Most headlines for which commands are left out. A choice: both directions of a copy, and a row of
each other study of a quick run."""
_GIVES_WAY = ("Points:", "Try:", "Published:")
"""Labels of commands that are left out for headlines, the least useful first. A choice."""


def text(run: Run) -> str:
    """Makes the summary without commands, which would need the path of the run's file."""
    return "\n".join(lines(run)) + "\n"


def lines(
    run: Run,
    path: Path | None = None,
    summary: Frame | None = None,
) -> list[str]:
    """Makes the summary: devices, findings, missing measurements, state of the run, commands.

    ``path`` is the run's file, which the commands name.
    """
    of_run = RunContext.of(run, summary)
    rows, results = of_run.summary, findings(of_run)
    apis = next((finding.sentence for finding in results if finding.beside), "")
    sentences = dict.fromkeys((_title(of_run), main_sentence(results), _all_clear(results), apis))
    top = [line for sentence in sentences for line in _wrapped(sentence, 2)]
    bottom = ["", *_not_measured(of_run, results), *_wrapped(_state(run, rows), 2)]
    bottom += _wrapped(host_varied(run), 2)
    bottom += _wrapped(left_out(run), 1)
    if any(finding.clock == "hybrid" for finding in results):
        bottom += _wrapped(HYBRID, 2)
    room = LINES - 1 - len(top) - len(bottom) - 1  # the file's name comes last
    if path is not None:
        least = min(_LEAST_ROWS, sum(finding.headline for finding in results))
        commands = _fitting(_commands(run, results, path), room - 1 - least)
        bottom += ["", *commands]
        room -= 1 + len(commands)
    table = list(_table(results, max(room, 1)))
    return [printable(line).rstrip() for line in (*top, *([""] if table else []), *table, *bottom)]


def _wrapped(text: str, most: int) -> list[str]:
    """Breaks a text into at most ``most`` lines of 80 columns, or as many characters."""
    width = line_width()
    return textwrap.wrap(
        text, width, subsequent_indent="  ", max_lines=-(-most * COLUMNS // width),
        placeholder=" ...", break_on_hyphens=False,
    )  # fmt: skip


def _title(of_run: RunContext) -> str:
    """The title: names of devices, accelerators first; devices of one name are counted."""
    run, named = of_run.run, dict[str, list[DeviceRecord]]()
    usable = list(filter(has_runtime, run.devices))
    for device in sorted(usable or run.devices, key=lambda device: not accelerates(device)):
        if "+" not in device.address or len(run.devices) == 1:
            named.setdefault(_name(device), []).append(device)
    devices = "; ".join(_counted(name, of_name, of_run.beside) for name, of_name in named.items())
    if run.origin:
        return f"Isthmus: imported from {wording.origin(run)}: {devices or 'no device'}"
    real = [device for device in run.devices if device.real]
    if real and devices and not any(map(accelerates, run.devices)):
        return f"Isthmus: no accelerator found; the processor stands in: {devices}"
    return f"Isthmus: {devices or 'no device'}"


def _counted(name: str, devices: Sequence[DeviceRecord], beside: Container[str]) -> str:
    """Counts devices of one name, each card once: ``2 x H100, PCIe gen5 x16 (cuda:0, cuda:1)``."""
    own = [device.address for device in devices if device.address not in beside]
    addresses = own + [device.address for device in devices if device.address in beside]
    if len(addresses) > _MOST_ADDRESSES:
        addresses = [f"{(own or addresses)[0]} to {(own or addresses)[-1]}"]
    count = f"{len(own)} x " if len(own) > 1 else ""
    return f"{count}{name} ({', '.join(addresses)})"


def accelerates(device: DeviceRecord) -> bool:
    """Whether a device is an accelerator or its model, and not emulated on the processor."""
    return device.simulated or bool(device.link) or (device.real and _is_card(device))


def _is_card(device: DeviceRecord) -> bool:
    return device.properties.get("type", "cpu") != "cpu"


def has_runtime(device: DeviceRecord) -> bool:
    """Whether programs reach the device through a runtime."""
    return backends.of(device.backend).has_runtime


def _name(device: DeviceRecord) -> str:
    board = device.properties.get("board.name", "")
    if device.simulated:
        return f"model of {board or 'a card'}, simulated, no board was used"
    if device.properties.get("keeps_data") == "no":
        return "software of the API alone"
    name = device.name or device.backend
    if not device.real and _is_card(device):
        return f"{name}, no hardware"
    link = link_of(device.link)
    if link is None:
        return name
    return f"{name}, PCIe {link.name}"


def main_sentence(results: Sequence[Finding]) -> str:
    """The most important sentence: a significant gain, else the first headline."""
    heads = [finding for finding in results if finding.headline]
    changes = [finding for finding in heads if finding.unit == "1" and finding.verdict == "faster"]
    chosen = [*changes, *heads][:1]
    if not chosen:
        return ""
    use = f" Use {chosen[0].action}." if chosen[0].action and chosen[0] in changes else ""
    return chosen[0].sentence + use + ("" if chosen[0] in changes else _uncertain(chosen[0]))


def _uncertain(finding: Finding) -> str:
    """A sentence on a figure's wide interval; empty if it is narrow, or without an interval."""
    certain = finding.interval is not None and finding.interval.known
    if not certain or finding.interval is None or finding.interval.half_width <= QUICK:
        return ""
    if finding.too_wide:
        return " It is not certain: processes differ too much to tell."
    return f" It is not certain ({finding.certainty}): processes differ, or the host varies."


def _all_clear(results: Sequence[Finding]) -> str:
    """The sentence of the first "normal" verdict; empty if a verdict is "below" or "impossible"."""
    verdicts = {finding.verdict: finding.sentence for finding in reversed(results)}
    return "" if {"below", "impossible"} & verdicts.keys() else verdicts.get("normal", "")


def _table(results: Sequence[Finding], room: int) -> Iterator[str]:
    """Yields rows of headlines: studies take turns as far as there is room."""
    heads: dict[str, list[Finding]] = {}
    for finding in results:
        if finding.headline:
            heads.setdefault(finding.study, []).append(finding)
    shown = dict.fromkeys(heads, 0)
    for _ in range(max(map(len, heads.values()), default=0)):
        for study, of_study in heads.items():
            if shown[study] < len(of_study) and sum(shown.values()) < room:
                shown[study] += 1
    for study, of_study in heads.items():
        for i, finding in enumerate(of_study[: shown[study]]):
            yield from fitted(_row(finding, of_study, study if i == 0 else ""))


def _row(finding: Finding, of_study: Sequence[Finding], study: str) -> str:
    whose = _whose(finding, of_study)
    label = finding.subject if finding.unit == "1" else f"{finding.quantity}{whose}"
    # Without a figure, a cause takes the figure's place, and the label names the reference.
    figure = f"{finding.figure:>{_FIGURE}}  " if finding.figure else ""
    row = f"{study[:_STUDY]:{_STUDY}} {cut_middle(label, _LABEL):{_LABEL}} {figure}"
    of = f" of {finding.reference.name}" if finding.reference and finding.figure else ""
    notes = [finding.percent + of] if finding.reference and finding.percent else []
    notes += [finding.remark] if finding.remark and (finding.causes or not notes) else []
    notes += [f"{finding.devices} devices"] if finding.devices > 1 else []
    notes += [finding.certainty.replace(" to ", "-")] if finding.span else []
    joint = ""
    for note in notes:
        if len(row) + len(joint) + len(note) <= COLUMNS:
            row += joint + note
            joint = ", "
    return row


def _whose(finding: Finding, of_study: Sequence[Finding]) -> str:
    """Device or kind of memory of a finding, if others of its study have other ones; else empty."""
    if finding.devices > 1:
        return ""
    subjects = {other.subject for other in of_study if other.unit != "1"}
    if len(subjects) == 1:
        return ""
    if len({other.device for other in of_study}) > 1:
        return f", {finding.subject}"
    rest = finding.subject.removeprefix(finding.device).removeprefix(", model").strip(", ")
    return f", {rest}" if rest else ""


def _not_measured(of_run: RunContext, results: Sequence[Finding]) -> Iterable[str]:
    missing = unmeasured(of_run, results)
    if missing:
        yield from _wrapped(f"Not measured: {missing}", 2)
    wrong = [p for p in of_run.run.points if any(rerun.verified == "false" for rerun in p.reruns)]
    if wrong:
        first = f"{wrong[0].operation} {wrong[0].memory} {format_size(wrong[0].bytes)}"
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        points = counted(len(wrong), "point", "points")
        yield from _wrapped(f"Wrong data: {points} ({first}{more})", 2)


def unmeasured(of_run: RunContext, results: Sequence[Finding]) -> str:
    """Requested measurements that are missing, each with its reason; empty if all were made."""
    run, rows, texts = of_run.run, of_run.summary, list[str]()
    if run.origin:
        texts += [*run.origin.not_measured, *run.origin.left_out]
    registry = studies.registry()
    measured = {point.study for point in run.points}
    silent = measured - {finding.study for finding in results}
    for name in of_run.studies:
        if name in registry and name not in measured:
            texts.append(f"{name} (needs {registry[name].needs})")
    if run.status != "complete":
        why = "time ran out" if run.status == "budget" else "interrupted"
        texts += [f"{name} ({why})" for name in of_run.studies if name in silent]
    texts += [f"{device.address} ({device.error})" for device in run.devices if device.error]
    skipped = dict.fromkeys((p.memory or p.operation, p.skipped) for p in run.points if p.skipped)
    texts += [f"{what} ({why})" for what, why in skipped]
    empty = rows[(rows["samples"] == 0) & (rows["operation"] != "b_eff")]
    empty = empty[~empty["study"].isin(silent)]
    for cause, why in (
        ("failed", "failed"), ("budget_exhausted", "time ran out"), ("interrupted", "interrupted"),
    ):  # fmt: skip
        count = sum(cause in str(flags).split(";") for flags in empty["flags"])
        texts += [f"{count} point{'s' if count > 1 else ''} ({why})"] if count else []
    resolved = set(rows[~rows["flags"].str.contains(BELOW_RESOLUTION)]["device"])
    short = dict.fromkeys(device for device in rows["device"] if device not in resolved)
    texts += [f"{device} (all times below the clock's resolution)" for device in short]
    return "; ".join(texts)


def host_varied(run: Run) -> str:
    """A sentence on the part of the run in which the host was slower; empty without such a part."""
    varied = variation(run)
    return wording.host_varied(varied) if varied else ""


def left_out(run: Run) -> str:
    """A sentence on points that need a longer run, with the time they need; else empty."""
    if not run.left_out:
        return ""
    points = sum(study.points for study in run.left_out)
    seconds = sum(study.seconds for study in run.left_out)
    takes = f"{seconds:.0f} s" if seconds < _MINUTES_FROM_S else f"{seconds / 60:.0f} min"
    return f"{points:,} further points (other operations and sizes) would take {takes}."


def _state(run: Run, rows: Frame) -> str:
    """A line on the state of the run: points, time, precision and disturbances."""
    measured = rows[rows["samples"] > 0]
    points = f"{len(run.points):,} point{'' if len(run.points) == 1 else 's'}"
    count_measured = sum(point.measured for point in run.points)
    points = points if count_measured == len(run.points) else f"{count_measured:,} of {points}"
    took = _seconds(run)
    how = {"complete": "", "budget": " (time ran out)", "interrupted": " (interrupted)"}
    texts = [f"{points}{f', {took}' if took else ''}{how[run.status]}"]
    if run.origin:
        assumed = f"; assumed: {'; '.join(run.origin.assumed)}" if run.origin.assumed else ""
        return f"{points} of {' and '.join(map(_figures_are, run.origin.statistics))}{assumed}"
    if len(measured) and run.devices and all(device.simulated for device in run.devices):
        texts.append("simulated: the same on every machine")
    elif len(measured):
        texts.append(_certain(run, measured))
        count, of_rows = disturbed(rows)
        noisy = 100 * count / of_rows
        where = " (virtual machine)" if run.environment.get("virtualised") else ""
        texts += [f"{noisy:.0f} % disturbed{where}"] if noisy >= 1 else []
    return "; ".join(texts)


def _certain(run: Run, measured: Frame) -> str:
    """Says which share of the points reached the run's precision.

    Points with fewer processes than an interval needs do not count: sizes below a plateau, or
    points at the end of the time.
    """
    if measured["reruns"].max() == 1:
        return "of one process: another may differ by more than the intervals"
    several = measured[measured["reruns"] >= QUICK_PROCESSES]
    whole = several.empty or len(several) == len(measured)
    counted = measured if whole else several
    of = "of them" if whole else f"of {len(several)} in several processes"
    sure = 100 * counted["converged"].mean()
    return f"{sure:.0f} % {of} known to within {100 * run.settings.precision:g} %"


def _figures_are(statistic: str) -> str:
    """Words for the statistic of imported figures, such as ``mean``."""
    return "single repetitions" if statistic == "each" else f"{statistic} values"


def _seconds(run: Run) -> str:
    """Duration of a run in words; empty if the file does not record it."""
    if not run.finished:
        return ""
    seconds = run.took_s
    return f"{seconds / 60:.0f} min" if seconds >= _MINUTES_FROM_S else f"{seconds:.0f} s"


def _fitting(commands: Sequence[tuple[str, list[str]]], room: int) -> list[str]:
    """Lines of the commands; those with a label of ``_GIVES_WAY`` are left out without room."""
    kept = list(commands)
    for given_up in _GIVES_WAY:
        if sum(len(lines) for _, lines in kept) > room:
            kept = [(label, lines) for label, lines in kept if label != given_up]
    return [line for _, lines in kept for line in lines]


def _commands(run: Run, results: Sequence[Finding], path: Path) -> list[tuple[str, list[str]]]:
    """Commands with label and lines: for the page, the points, and more precise measurements."""
    file = shorter(path)
    commands: list[tuple[str, Invocation | None]] = [
        ("Page:", invocation("report", file, "--force", "--open")),
        ("Points:", invocation("show", file, "--points")),
    ]
    if run.origin:  # verdicts exclude imported figures
        commands.append(("Normal?", invocation("judge", shorter(Path(run.origin.file)))))
    if run.status != "complete" or run.left_out:
        left_s = sum(study.seconds for study in run.left_out)
        budget_s = left_s if run.status == "complete" else 2 * run.settings.budget_s
        commands.append(("Go on:", resumed(run.studies, path, len(ranks_of(run)), budget_s)))
    actions = [finding.action for finding in results if finding.headline]
    decide = (a for a in actions if isinstance(a, Invocation) and a.words[0] == "run")
    commands.append(("Try:", next(decide, None)))
    commands += [("Published:", command) for command in _published(run)]
    return [
        (label, list(command_lines(command, f"{label:{_COMMAND}}")))
        for label, command in commands
        if command is not None
    ]


def _published(run: Run) -> list[Invocation]:
    """Commands that compare a run with published figures of its boards, for its studies."""
    names = {
        (row.source, device.address if device.real else "")
        for device in run.devices
        for study in run.studies
        for row in rows_of_card(study, device)
        if is_address(device.address)
    }
    return [
        invocation("reproduce", source, *(option_words("--device", address) if address else ()))
        for source, address in sorted(names)
    ]


REPORTER = Reporter("summary", "what was found, on one screen", text)
