"""Board files: what is installed, and one clear line for each that cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isthmus import boards
from isthmus.boards import listing
from isthmus.boards.table import KINDS, TABLE, Value, of_section, required_sections
from isthmus.errors import UsageError

SOURCES = Path(__file__).parents[1] / "card" / "boards"
LANES = 'lanes = { value = 8, kind = "assumed", source = "a guess" }'


def board_file(folder: Path, link: str = LANES, head: str = "", name: str = "own.toml") -> Path:
    """A board of a user: the generic card with this [link]."""
    path = folder / name
    about = f'[board]\nname = "own"\ntitle = "a test"\ninclude = "generic-gen4x8"\n{head}\n'
    path.write_text(f"{about}[link]\n{link}\n")
    return path


def refusal(path: Path | str, overrides: dict[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        boards.load(str(path), overrides)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_what_is_installed_is_what_the_sources_say() -> None:
    assert boards.names() == sorted(p.stem for p in SOURCES.glob("[!_]*.toml"))
    assert {"u250", "u200", "f1-vu9p", "520n", "stratix4-gen2x8"} <= set(boards.names())
    for path in SOURCES.glob("*.toml"):
        assert (boards.FOLDER / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", boards.names())
def test_every_parameter_says_where_it_comes_from(name: str) -> None:
    board = boards.load(name)
    assert board.name == name
    for flat, setting in board.settings.items():
        assert setting.kind in KINDS
        assert len(setting.source) > 5
        assert (setting.kind == "fitted") == bool(setting.calibration)
        assert TABLE[flat].check(setting.value) == setting.value
    present = {flat.partition(".")[0] for flat in board.settings}
    assert required_sections(present) <= present
    for section in present:
        assert [p.name for p in of_section(section)] == [
            flat for flat in board.settings if flat.startswith(f"{section}.")
        ]


def test_each_value_that_a_parameter_names_is_taken() -> None:
    """Host pages of 2 MiB and 1 GiB were refused: they are above the limit of counts."""
    for parameter in TABLE.values():
        assert [parameter.check(value) for value in parameter.allowed] == [*parameter.allowed]


def test_an_included_board_is_overridden(tmp_path: Path) -> None:
    path = board_file(tmp_path)
    board = boards.load(str(path))
    assert board.value("link.lanes") == 8
    assert board.settings["link.lanes"].file == str(path)
    assert board.value("link.generation") == boards.load("generic-gen4x8").value("link.generation")
    upper = tmp_path / "upper.toml"
    upper.write_text('[board]\nname = "upper"\ninclude = "own.toml"\n')
    assert boards.load(str(upper)).title == "upper"
    nameless = tmp_path / "nameless.toml"
    nameless.write_text('[board]\ninclude = "own.toml"\n')
    assert (boards.load(str(nameless)).name, boards.load(str(path)).name) == ("nameless", "own")


def test_flat_values_and_overrides() -> None:
    flat = boards.resolve("u250", {"link.lanes": "8", "link.straddle": "TRUE"})
    assert flat["link.lanes"] == "8"
    assert flat["link.straddle"] == "true"
    assert flat["board.name"] == "u250"
    assert boards.named("u250,link.max_payload_bytes=4Ki").value("link.max_payload_bytes") == 4096
    assert boards.named("u250,link.lanes=8").settings["link.lanes"].kind == "chosen"
    with pytest.raises(UsageError, match="is not KEY=VALUE"):
        boards.named("u250,link.lanes")


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ('lanes = { value = 3, kind = "assumed", source = "s" }', "3 is none of 1, 2, 4, 8, 16"),
        ('lanes = { value = true, kind = "assumed", source = "s" }', "not a whole number"),
        ('lanes = { value = "8", kind = "assumed", source = "s" }', "not a whole number"),
        ('lanes = { value = 8.0, kind = "assumed", source = "s" }', "not a whole number"),
        ('latency_ns = { value = -1, kind = "assumed", source = "s" }', "between 0 and 1e+09"),
        ('latency_ns = { value = nan, kind = "assumed", source = "s" }', "between 0 and 1e+09"),
        ('error_rate = { value = 1.5, kind = "assumed", source = "s" }', "between 0 and 0.5"),
        ('straddle = { value = 1, kind = "assumed", source = "s" }', "not true or false"),
        ('lane = { value = 8, kind = "assumed", source = "s" }', "unknown key"),
        ("lanes = [8]", "write a value, or { value"),
        ('lanes = { value = 8, source = "s" }', "'kind' is missing"),
        ('lanes = { value = 8, kind = "assumed" }', "'source' is missing"),
        ('lanes = { kind = "assumed", source = "s" }', "'value' is missing"),
        ('lanes = { value = 8, kind = "guessed", source = "s" }', "'guessed' is none of"),
        ('lanes = { value = 8, kind = "assumed", source = " " }', "source is no text"),
        ('lanes = { value = 8, kind = "assumed", source = "s", by = "me" }', "'by' is unknown"),
        ('lanes = { value = 8, kind = "fitted", source = "s" }', "calibration names"),
        ('lanes = { value = 8, kind = "assumed", source = "s", calibration = "x" }', "calibration"),
    ],
)
def test_a_bad_parameter_names_file_and_key(tmp_path: Path, link: str, message: str) -> None:
    path = board_file(tmp_path, link)
    text = refusal(path)
    assert text.startswith(f"{path}: link.{link.partition(' ')[0]}: ")
    assert message in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml at all [", "no TOML"),
        ('[board]\n"na\\nme" = "x"\n', "board.na\\nme is unknown"),
        ('[board]\nname = "x"\n[lnk]\n', "[lnk] is unknown"),
        ('link = 3\n[board]\nname = "x"\n', "link is no section"),
        ("board = 3\n", "board is no section"),
        ("[board]\nname = 3\n", "board.name is no text"),
        ('[board]\nnam = "x"\n', "board.nam is unknown"),
        ('[board]\nshells = "x"\n', "board.shells: write [{ name"),
        ('[board]\nshells = [{ name = "x" }]\n', "board.shells: write [{ name"),
        ('[board]\ntitle = "t"\ninclude = "nowhere.toml"\n', "nowhere.toml: no such file"),
        ('[board]\ninclude = "nope"\n', "board.include: unknown board 'nope'"),
        ('[board]\nname = "x"\ntitle = "t"\n', 'more: write base = "u250" below [board]'),
        ('[board]\ntitle = "t"\ninclude = "_host"\n', "unknown board '_host'"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    refused = refusal(path)
    assert refused.startswith(f"{path}: ")
    assert message in refused


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe\x00[board]")
    assert "no TOML" in refusal(path)


def test_includes_that_go_round(tmp_path: Path) -> None:
    for here, there in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{here}.toml").write_text(f'[board]\ninclude = "{there}.toml"\n')
    assert "cyclic: a.toml -> b.toml -> c.toml -> a.toml" in refusal(tmp_path / "a.toml")


def test_a_board_elsewhere_includes_installed_parts(tmp_path: Path) -> None:
    def with_link(include: str) -> Path:
        path = tmp_path / "mine.toml"
        entry = '{ value = 3, kind = "assumed", source = "a guess" }'
        path.write_text(f'[board]\ninclude = "{include}"\n[link]\ngeneration = {entry}\n')
        return path

    host = boards.load("u250").settings["host.load_ns"]
    text = refusal(with_link("_host.toml"))
    assert "link.lanes is missing" in text
    assert "link.max_payload_bytes is missing" in text
    assert "host." not in text
    assert boards.load(str(with_link("u250.toml"))).settings["host.load_ns"] == host
    # A file of that name beside it comes first.
    (tmp_path / "u250.toml").write_text('[board]\ninclude = "generic-gen4x8"\n')
    file = boards.load(str(tmp_path / "mine.toml"))
    assert file.whole("link.lanes") == boards.load("generic-gen4x8").whole("link.lanes")
    assert "no such file, and" in refusal(with_link("_nothing.toml"))
    assert refusal(with_link("./u200.toml")).endswith("u200.toml: no such file")


def test_a_plain_value_is_assumed(tmp_path: Path) -> None:
    board = boards.load(str(board_file(tmp_path, "lanes = 4\nstraddle = false\nlatency_ns = 250")))
    assert (board.whole("link.lanes"), board.value("link.straddle")) == (4, False)
    assert board.seconds("link.latency_ns") == pytest.approx(250e-9)
    setting = board.settings["link.lanes"]
    assert (setting.kind, setting.source) == ("assumed", "a plain value in own.toml")


def test_a_board_without_a_link_needs_neither_link_nor_host(tmp_path: Path) -> None:
    board = boards.load("kv260")
    assert not any(board.has(section) for section in ("link", "host", "dma"))
    path = tmp_path / "mine.toml"
    path.write_text('[board]\nbase = "kv260"\n[kernel]\nclock_MHz = 200\n')
    assert boards.load(str(path)).hertz("kernel.clock_MHz") == 200e6
    with pytest.raises(UsageError, match=r"has no \[link\]"):
        board.value("link.lanes")


def test_parts_that_do_not_go_together(tmp_path: Path) -> None:
    credits_ = 'posted_data_credits = { value = 4, kind = "assumed", source = "a guess" }'
    assert "link.posted_data_credits=4 is too little" in refusal(board_file(tmp_path, credits_))
    lonely = tmp_path / "lonely.toml"
    shared = (boards.FOLDER / "_host.toml").as_posix()
    sram = 'kind = "assumed", source = "a guess" }'
    lonely.write_text(
        f'[board]\nname = "x"\ntitle = "t"\ninclude = "{shared}"\n'
        + "[link]\n"
        + "".join(
            f"{key} = {{ value = {value}, {sram}\n"
            for key, value in {
                "generation": 3, "lanes": 8, "max_payload_bytes": 256, "user_bus_bytes": 32,
                "max_read_request_bytes": 512, "user_clock_MHz": 250,
            }.items()
        )
        + f"[sram]\nextra_cycles = {{ value = 1, {sram}\nbytes = {{ value = 4096, {sram}\n"
    )  # fmt: skip
    assert "registers.cycles is missing" in refusal(lonely)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"link.lanes": "3"}, "link.lanes=3: 3 is none of"),
        ({"link.lanes": "x"}, "link.lanes=x: 'x' is not a whole number"),
        ({"link.laness": "8"}, "link.laness=8: unknown parameter"),
        ({"host.load_ns": "inf"}, "host.load_ns=inf: inf must be between 0 and 1e+09"),
        ({"dma.completion": "hope"}, "'hope' is none of poll, interrupt"),
        ({"link.straddle": "perhaps"}, "not true or false"),
        ({"serial.hop_ns": "1"}, "board 'u250' has no [serial]"),
    ],
)
def test_a_bad_override_names_the_key(overrides: dict[str, str], message: str) -> None:
    assert message in refusal("u250", overrides)


def overridden(name: str, value: str) -> Value | UsageError:
    try:
        return boards.load("stratix4-gen2x8", {name: value}).value(name)
    except UsageError as error:
        return error


@given(
    name=st.sampled_from(sorted(TABLE)),
    value=st.text(max_size=12) | st.integers().map(str) | st.floats().map(str),
)
def test_any_override_is_taken_or_refused_in_one_line(name: str, value: str) -> None:
    result = overridden(name, value)
    if isinstance(result, UsageError):
        assert name in str(result)
        assert "\n" not in str(result)
    else:
        assert TABLE[name].check(result) == result


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(name=st.sampled_from([p.name for p in TABLE.values() if p.default is None]))
def test_any_required_parameter_is_missed(tmp_path: Path, name: str) -> None:
    having = {"kernel": "520n", "serial": "520n", "offload": "u200", "sync": "kv260"}
    whole = boards.load(having.get(name.partition(".")[0], "stratix4-gen2x8"))
    lines = ['[board]\nname = "x"\ntitle = "t"']
    section = ""
    for flat, setting in whole.settings.items():
        if flat == name:
            continue
        here, _, key = flat.partition(".")
        if here != section:
            lines.append(f"[{here}]")
            section = here
        value = json.dumps(setting.value)
        lines.append(f'{key} = {{ value = {value}, kind = "assumed", source = "a copy" }}')
    path = tmp_path / "incomplete.toml"
    path.write_text("\n".join(lines))
    assert refusal(path).startswith(f"{path}: {name} is missing")


def test_no_file_and_no_board() -> None:
    assert refusal("/nowhere/at/all.toml") == "/nowhere/at/all.toml: no such file"
    assert "unknown board 'u25'; did you mean u250? known: 520n, " in refusal("u25")


def test_what_the_user_replaced_is_not_blamed_on_the_file() -> None:
    with pytest.raises(UsageError) as refused:
        boards.load("u250", {"link.posted_data_credits": "1"})
    text = str(refused.value)
    assert text == "link.posted_data_credits=1 is too little for link.max_payload_bytes=256"


def test_the_card_reads_just_the_parameters_that_a_board_can_have() -> None:
    source = (SOURCES.parent / "src" / "board.cpp").read_text("utf-8")
    read = set(re.findall(r'"([a-z]+\.\w+)"', source))
    assert read == {"board.name", *TABLE}


def test_a_board_as_toml_reads_as_the_same_board(tmp_path):
    file = tmp_path / "mine.toml"
    board = boards.named("u250,link.lanes=8")
    file.write_text("\n".join(listing.toml(board)))
    again = boards.load(str(file))
    assert {**again.flat(), "board.name": "u250"} == board.flat()
    assert again.name == "my-u250"
    assert again.shells == board.shells


def test_a_board_may_begin_from_another_and_its_title_names_what_differs(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[board]\nname = "mine"\nbase = "u250"\n[link]\n'
        'lanes = { value = 4, kind = "assumed", source = "a slot" }\n'
    )
    based = boards.load(str(file))
    changed = boards.named("u250,link.lanes=4")
    assert {**based.flat(), "board.name": "u250"} == changed.flat()
    assert changed.title == f"{boards.load('u250').title}, with link.lanes=4"
    assert based.shells == changed.shells != ()
    file.write_text('[board]\nbase = "u250"\ninclude = "u250"\n')
    with pytest.raises(UsageError, match="are the same"):
        boards.load(str(file))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[bord]", ""),
        ("[lnik]", "link"),
        ("[link]\nlane = 1", "lanes"),
        ('[board]\ntitel = "x"', "title"),
        ("[link]\nlanes = { valu = 1 }", "value"),
    ],
)
def test_unknown_keys_get_the_nearest_known_one(tmp_path, text, meant):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=f"did you mean {meant}" if meant else "unknown"):
        boards.load(str(file))
