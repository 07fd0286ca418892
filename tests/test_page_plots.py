"""Plots of the page: what they show, and that nothing in them covers anything else."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator

import altair as alt
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.reporters.html import charts, drawing, layout, write_page
from isthmus.results import run_file
from isthmus.results.run_file import DeviceRecord, Run
from pages import SIZES, needs_browser, probed, whole
from synthetic import Law, transfer_run


def drawn(measured: Run, study: str = "transfer") -> list[drawing.Figure]:
    return charts.figures(study, [charts.Source("x", measured)], charts.Palette())


def texts(figure: drawing.Figure) -> str:
    return json.dumps([figure.draw(i, 360) for i in range(figure.panels)])


def test_published_marks_are_of_the_same_board_only():
    def marks(device: str, api: str) -> list[str]:
        measured = transfer_run({device: {"write": Law(1e-6, 1e9)}}, SIZES, apis={device: api})
        names = [DeviceRecord(address=device, backend="x", real=True, name=device, api=api)]
        (figure,) = drawn(msgspec.structs.replace(measured, devices=names))
        drawn_marks = re.findall(r"published, AWS F1[^:]*2024\), (\w+) write, [^:]*: [\d.]+ GiB/s",
                                 texts(figure))  # fmt: skip
        return sorted(set(drawn_marks))

    assert marks("xrt f1-vu9p", "xrt") == ["xrt"]
    assert marks("opencl f1-vu9p", "opencl") == ["opencl"]
    assert marks("xrt u250", "xrt") == []
    assert marks("cuda:0", "cuda") == []


def test_specifications_follow_vega_lites_schema():
    for figure in drawn(whole()):
        spec = figure.draw(0, 360)
        alt.Chart.from_dict(spec, validate=True)
        sides = spec["padding"]
        assert spec["width"] + sides["left"] + sides["right"] == pytest.approx(360)


def test_no_plot_has_a_single_size():
    one = transfer_run({"a": {"read": Law(1e-6, 1e9)}, "b": {"read": Law(1e-6, 2e9)}}, [4096])
    assert drawn(one) == []


def test_a_device_keeps_its_colour_in_every_plot():
    laws = {"a": {"read": Law(1e-6, 1e9)}, "b": {"read": Law(1e-6, 2e9)}}
    measured = transfer_run(laws, SIZES)
    source, palette = charts.Source("x", measured), charts.Palette()
    charts.figures("transfer", [source], palette)
    first = [palette.of(source, name, "opencl") for name in ("a", "b")]
    charts.figures("transfer", [source], palette)
    assert first == [palette.of(source, name, "opencl") for name in ("a", "b")]
    assert len(set(first)) == 2
    assert palette.of(source, "host", "host") not in layout.COLOURS


def test_a_card_without_memory_0_is_drawn_too():
    laws = {"a": {"write": Law(1e-6, 1e9)}, "b": {"write": Law(1e-6, 2e9)}}
    measured = transfer_run(laws, SIZES)
    points = [
        msgspec.structs.replace(p, axes={"depth": 1, "bank": 32}) if p.device == "b" else p
        for p in measured.points
    ]
    source = charts.Source("x", msgspec.structs.replace(measured, points=points))
    rates = charts.figures("transfer", [source], charts.Palette())[0]
    shown = json.dumps(rates.draw(0, 600))
    assert '"a"' in shown
    assert '"b"' in shown


def test_model_hardware_and_memory_are_told_apart_without_colour():
    (figure,) = drawn(whole())
    spec = figure.draw(0, 360)
    dashes = [layer["mark"].get("strokeDash") for layer in spec["layer"]
              if layer["mark"]["type"] == "line"]  # fmt: skip
    assert dashes == [None, [6, 3]]


def test_only_a_real_copy_of_the_host_is_called_memcpy():
    laws = {name: {"read": Law(1e-6, 1e9)} for name in ("host", "null:20us")}
    measured = transfer_run(laws, SIZES, apis=dict.fromkeys(laws, "host"))
    devices = [msgspec.structs.replace(d, real=d.address == "host") for d in measured.devices]
    source = charts.Source("x", msgspec.structs.replace(measured, devices=devices))
    assert source.label("host") == "memcpy"
    assert source.label("null:20us") == "null:20us"


@given(
    st.lists(st.floats(0, 200), min_size=1, max_size=10),
    st.floats(1, 18),
)
def test_labels_are_moved_apart_and_stay_in_order(places, gap):
    moved = layout.spread(places, gap, 0, 200)
    order = sorted(range(len(places)), key=places.__getitem__)
    apart = [moved[b] - moved[a] for a, b in itertools.pairwise(order)]
    assert all(distance >= gap - 1e-6 for distance in apart)
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in moved)


def domains(spec: object) -> Iterator[list[float]]:
    """Domains of all horizontal scales in a specification."""
    if isinstance(spec, dict):
        if "domain" in spec.get("x", {}).get("scale", {}):
            yield spec["x"]["scale"]["domain"]
        spec = list(spec.values())
    for part in spec if isinstance(spec, list) else ():
        yield from domains(part)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=5),
    st.booleans(),
)
def test_axes_hold_all_values(values, log):
    colour = layout.LIGHT["c1"]
    dots = [drawing.Dot("a", colour, value, value, value, "", "") for value in values]
    axes = list(domains(drawing.dots(dots, log=log)(0, 600)))
    assert axes
    for low, high in axes:
        assert low <= min(values) * (1 + 1e-9)
        assert high >= max(values) * (1 - 1e-9)
        assert low < high


@pytest.fixture(scope="module")
def cards(run_isthmus, tmp_path_factory) -> list[tuple[str, Run]]:
    """Each study, as an emulated card shows it."""
    folder = tmp_path_factory.mktemp("cards")
    arguments = {
        "transfer": ("card:f1-vu9p", "--bytes", "1,4Ki,1Mi"),
        "hostmem": ("card:u250", "--bytes", "4Ki,64Ki"),
        "allocation": ("card:u200-tutorial", "--memory", "aligned,pageable,offset16"),
        "beff": ("card:520n", "--bytes", "1,4Ki,64Ki"),
        "mmio": ("card:stratix4-gen2x8", "--bytes", "8,64,4Ki"),
    }
    for study, (card, *axis) in arguments.items():
        done = run_isthmus(
            "run", study, "--device", card, *axis, "--out", f"{study}.json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
    return [(f"{study}.json", run_file.load(folder / f"{study}.json")) for study in arguments]


def test_each_study_gets_its_plots_and_one_open_table(cards, tmp_path):
    text = write_page(cards, tmp_path).read_text("utf-8")
    plots = {path.stem for path in (tmp_path / "plots").iterdir()}
    assert plots == {
        "transfer-rate", "hostmem-rate", "allocation-phases", "allocation-memory", "beff-rate",
        "allocation-published", "mmio-access", "mmio-size", "mmio-published",
    }  # fmt: skip
    assert text.count("<figure") == len(plots) + 1
    for study in (name.removesuffix(".json") for name, _ in cards):
        section = text[text.index(f'<section id="{study}">') :]
        section = section[: section.index("</section>")]
        both = f"{study}-published" in plots
        assert 1 <= section.count("<figure") <= 2 + both, study
        shown = re.sub(r"<details>.*?</details>", "", section, flags=re.DOTALL)
        assert shown.count("<table>") == 1, study
    for plot, message in (
        ("hostmem-rate", "'s example log), 4 KiB: "), ("transfer-rate", "8.775 GiB/s"),
        ("beff-rate", "64 KiB: 9.0823 GB/s"),
        ("allocation-published", "read back, aligned: 2.479 ms"),
        ("mmio-published", "load of SRAM, 8 B: 507.35 ns"),
    ):  # fmt: skip
        drawn = (tmp_path / "plots" / f"{plot}.svg").read_text("utf-8")
        assert "published, " in drawn
        assert message in drawn, plot
    assert len(text.encode()) < 1_500_000


@needs_browser
@pytest.mark.slow
def test_no_label_of_any_study_lies_on_another(cards, tmp_path):
    page = write_page(cards, tmp_path)
    for wide in (1280, 400):
        result, seen = probed(page, tmp_path / str(wide), wide, 800)
        assert seen.console == []
        assert result["overlaps"] == []
        assert result["outside"] == []
        assert result["width"] <= wide
        assert result["height"] < (1600 if wide > 1000 else 2400) * len(cards)
