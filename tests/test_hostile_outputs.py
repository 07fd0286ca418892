"""What is no output of another program, or an edited one: refused in one line, or valid."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from isthmus import importers
from isthmus.analysis.summary import summarise
from isthmus.errors import UsageError
from isthmus.importers.as_run import MOST_BYTES
from isthmus.results import run_file
from other_outputs import FACTS, FILES, SIZELESS, run_of, text_of


def refused(path: Path, form: str | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        run_of(path, form)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


HOSTILE = {
    "empty": b"",
    "blank": b" \n\n",
    "binary": bytes(range(256)),
    "NUL": b"# OSU MPI Bandwidth Test v7.4\n1 \0 2\n",
    "prose": b"nothing was measured\n",
    "ours": b'{"schema": "isthmus.run/1"}',
    "cut short": b'{"nvbandwidth": {"testcases": [{"name": "host_to',
    "other types": b'{"nvbandwidth": {"testcases": 5}}',
    "no figures": b'{"nvbandwidth": {"testcases": []}}',
    "deep": b'{"nvbandwidth": ' + b"[" * 100_000,
    "entities": b'<!DOCTYPE x [<!ENTITY a "aaaa">]><clpeak><a>&a;</a></clpeak>',
    "XML cut short": b'<clpeak os="x"><platform name="y">',
    "only headers": b"# OSU MPI Bandwidth Test v7.4\n",
    "table without columns": b"Data Transfer: Host to Global Memory\nA,B\n1,2\n",
    "table without rows": b"Data Transfer: Host to Global Memory\n",
    "too few columns": b" #bytes #iterations    BW average[MB/sec]\n 8 5\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_contents_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(HOSTILE[name])
    assert str(file) in refused(file)
    for form in importers.registry():
        refused(file, form)


BAD = ["nan", "NaN", "-5", "0", "inf", "1e300", "1e-300", "9" * 400, "0x10", "", "1,5", "N/A"]


@pytest.mark.parametrize("bad", BAD)
def test_a_figure_that_is_none_is_refused_with_its_line(bad: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    for name, value in (
        ("osu_bw.txt", "4.26"), ("host_memory_bandwidth.log", "4.87813"),
        ("b_eff.log", "2.70812e+03"), ("ib_write_bw.txt", "0.48"), ("xbutil.json", "9128.4"),
        ("vitis_summary.csv", "0.337222,\n"), ("clpeak-1.1.2.xml", "14.1172"),
    ):  # fmt: skip
        file.write_text(
            text_of(name).replace(value, bad + value[len(value.rstrip(",\n")) :]), "utf-8"
        )
        try:
            run = run_of(file, size=512 << 20 if name in SIZELESS else None)
        except UsageError as error:
            assert "line " in str(error) or "no figure" in str(error)  # noqa: PT017
        else:  # such a line is no line of figures: it gives none
            assert len(run.points) < FACTS[name][1]


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as out:
        out.truncate(100 << 20)
    assert "larger than" in refused(file)
    assert MOST_BYTES < 100 << 20
    many = "# OSU MPI Bandwidth Test v7.4\n" + "".join(f"{n} 1\n" for n in range(1, 30_000))
    file.write_text(many, encoding="utf-8")
    assert "more than 20000 figures" in refused(file)


def test_what_is_no_file_is_refused(tmp_path: Path, isthmus: Command) -> None:
    assert "not there" in refused(tmp_path / "absent")
    assert "no file" in refused(tmp_path)
    assert "no file" in refused(Path("/dev/zero"))
    (tmp_path / "noise").write_bytes(HOSTILE["binary"])
    ended = isthmus("import", "noise")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "isthmus: noise: not text\n"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edited") / "file"


def accepted_or_refused(file: Path, data: bytes, form: str | None) -> None:
    file.write_bytes(data)
    try:
        run = run_of(file, form)
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        frame = summarise(run).to_pandas()
        assert not frame["verified"].eq("true").any()
        assert frame["median_s"].dropna().gt(0).all()
        assert run_file.encode(run)


@given(form=st.sampled_from([None, *importers.registry()]), data=st.binary(max_size=300))
def test_any_bytes_are_refused_or_valid(scratch: Path, form: str | None, data: bytes) -> None:
    accepted_or_refused(scratch, data, form)


@given(
    file=st.sampled_from(FILES),
    cut=st.floats(0, 1),
    length=st.integers(0, 60),
    instead=st.one_of(
        st.sampled_from(
            [b"", b"-", b"NaN", b"1e999", b'"', b"{", b"]", b"<", b"\t", b"null", b"0"]
        ),
        st.binary(max_size=8),
    ),
)
def test_edited_outputs_are_refused_or_valid(
    scratch: Path, file: Path, cut: float, length: int, instead: bytes
) -> None:
    data = file.read_bytes()
    at = int(cut * len(data))
    accepted_or_refused(scratch, data[:at] + instead + data[at + length :], None)


@given(file=st.sampled_from(FILES), cut=st.floats(0, 1))
def test_outputs_cut_short_are_refused_or_valid(scratch: Path, file: Path, cut: float) -> None:
    data = file.read_bytes()
    accepted_or_refused(scratch, data[: int(cut * len(data))], None)


@given(
    rates=st.dictionaries(
        st.integers(1, 1 << 30), st.floats(0.01, 1e6, allow_nan=False), min_size=1, max_size=8
    )
)
def test_rates_survive_the_way_through_times(scratch: Path, rates: dict[int, float]) -> None:
    rows = "".join(f"{size} {rate:.2f}\n" for size, rate in rates.items())
    scratch.write_text(f"# OSU MPI Bandwidth Test v7.4\n{rows}", encoding="utf-8")
    frame = summarise(run_of(scratch)).to_pandas().set_index("bytes")["bandwidth_Bps"]
    for size, rate in rates.items():
        assert frame[size] == pytest.approx(round(rate, 2) * 1e6, rel=1e-4)
