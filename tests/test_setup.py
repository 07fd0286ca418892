"""Set-up: what makes it build again, and what it says is missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

import isthmus
from isthmus import backends

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import cpp_tests
import fingerprints
import progress
import setup

ROOT = Path(__file__).parents[1]
XRT_HEADER = "include/xrt/xrt_bo.h"


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one source, set-up's notes in it, and a build folder with CMake's memory."""
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "STAMPS", tmp_path / "setup.json")
    monkeypatch.setattr(setup, "BUILD_FOLDERS", tmp_path / "build")
    put(tmp_path / "CMakeLists.txt")
    put(tmp_path / "pyproject.toml")
    put(tmp_path / "cpp" / "engine.cpp", "int main() {}")
    put(tmp_path / "build" / "wheel" / "CMakeCache.txt", "XRT_INCLUDE_DIR=/usr/include")
    put(tmp_path / "build" / "wheel" / "engine.o")
    return tmp_path


@pytest.fixture
def pip(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes set-up run a line of shell where it would run pip; returns the file."""

    def runs(line: str) -> Path:
        file = put(tree / "pip", f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)
        monkeypatch.setattr(setup, "PYTHON", file)
        monkeypatch.setattr(setup, "python_headers", lambda: tree)
        return file

    return runs


def test_a_header_that_appears_changes_what_was_found(tmp_path: Path) -> None:
    prefixes = (str(tmp_path / "usr"), "", str(tmp_path / "opt"))
    nothing = fingerprints.of_found(prefixes)
    put(tmp_path / "usr" / "include" / "unrelated.h")
    assert fingerprints.of_found(prefixes) == nothing
    header = put(tmp_path / "opt" / XRT_HEADER)
    there = fingerprints.of_found(prefixes)
    assert str(header) in there
    put(header, "another version")
    assert fingerprints.of_found(prefixes) not in {nothing, there}
    header.unlink()
    assert fingerprints.of_found(prefixes) == nothing


def test_all_that_the_xrt_backend_needs_is_looked_for(tmp_path: Path) -> None:
    backend = Path(__file__).parents[1] / "cpp" / "backends" / "xrt" / "backend.cmake"
    text = backend.read_text(encoding="utf-8")
    for name, file in (
        ("xrt/xrt_bo.h", XRT_HEADER),
        ("xrt_coreutil", "lib/x86_64-linux-gnu/libxrt_coreutil.so"),
        ("uuid/uuid.h", "include/uuid/uuid.h"),
    ):
        assert name in text
        before = fingerprints.of_found([str(tmp_path)])
        put(tmp_path / file)
        assert fingerprints.of_found([str(tmp_path)]) != before


def test_another_compiler_of_the_same_name_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fingerprints.of_tools("c++") == ""
    first = put(tmp_path / "g++-12", "#!/bin/sh\n")
    first.chmod(0o755)
    (tmp_path / "c++").symlink_to(first)
    before = fingerprints.of_tools("c++", "ninja")
    second = put(tmp_path / "g++-13", "#!/bin/sh\n")
    second.chmod(0o755)
    (tmp_path / "c++").unlink()
    (tmp_path / "c++").symlink_to(second)
    assert fingerprints.of_tools("c++", "ninja") != before


def test_the_build_depends_on_its_sources_and_on_what_surrounds_them(tree: Path) -> None:
    before = fingerprints.of_build(tree, "g++-12", "")
    assert fingerprints.of_build(tree, "g++-12", "") == before
    assert fingerprints.of_build(tree, "g++-12", "/usr/include/xrt/xrt_bo.h") != before
    put(tree / "cpp" / "tests" / "test.cpp")
    assert fingerprints.of_build(tree, "g++-12", "") == before
    put(tree / "cpp" / "engine.cpp", "int main() { return 1; }")
    assert fingerprints.of_build(tree, "g++-12", "") != before


def test_each_package_depends_on_its_sources_and_both_on_the_card_model(tree: Path) -> None:
    def prints() -> tuple[str, str]:
        return fingerprints.of_build(tree, "g++-12"), fingerprints.of_emulation(tree, "g++-12")

    first = prints()
    put(tree / "emulation" / "tests" / "test_card.py")
    assert prints() == first
    put(tree / "emulation" / "shim" / "card.cpp")
    with_shim = prints()
    assert (with_shim[0] == first[0], with_shim[1] == first[1]) == (True, False)
    put(tree / "card" / "src" / "card.cpp")
    with_card = prints()
    assert with_card[0] != with_shim[0]
    assert with_card[1] != with_shim[1]
    (tree / "emulation" / "card").symlink_to("../card")
    assert prints() == with_card


def test_users_go_on_without_an_emulation_that_cannot_be_built_and_tests_do_not(
    tree: Path, pip: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "emulation" / "CMakeLists.txt")
    file = pip("echo no coroutines; exit 1")
    setup.install_emulation(setup.Stamps(), needed=False)
    assert "  going on without it: no coroutines" in capsys.readouterr().out
    setup.install_emulation(setup.Stamps(), needed=False)
    assert capsys.readouterr().out == ""
    with pytest.raises(setup.SetupError, match="the build failed"):
        setup.install_emulation(setup.Stamps(), needed=True)
    put(tree / "emulation" / "CMakeLists.txt", "project(other)")  # may have cured it
    put(file, f"#!/bin/sh\necho $* > {tree}/arguments\n")
    setup.install_emulation(setup.Stamps(), needed=False)
    assert (tree / "arguments").read_text("utf-8").rstrip().endswith(f" {tree / 'emulation'}")
    file.unlink()
    setup.install_emulation(setup.Stamps(), needed=True)  # is there


def test_a_module_that_becomes_a_package_is_installed_again(tree: Path) -> None:
    put(tree / "src" / "isthmus" / "charts.py")
    before = fingerprints.of_build(tree, "g++-12", "")
    put(tree / "src" / "isthmus" / "page.py")
    assert fingerprints.of_build(tree, "g++-12", "") == before
    put(tree / "src" / "isthmus" / "charts" / "__init__.py")
    assert fingerprints.of_build(tree, "g++-12", "") != before


def test_what_appears_makes_cmake_look_again_and_keeps_what_was_compiled(tree: Path) -> None:
    setup.forget_old_builds(setup.Stamps(), "g++-12", "")
    put(tree / "build" / "wheel" / "CMakeCache.txt")
    compiled = put(tree / "build" / "wheel" / "engine.o")
    setup.forget_old_builds(setup.Stamps(), "g++-12", "")
    assert (tree / "build" / "wheel" / "CMakeCache.txt").exists()
    setup.forget_old_builds(setup.Stamps(), "g++-12", "/usr/include/xrt/xrt_bo.h")
    assert not (tree / "build" / "wheel" / "CMakeCache.txt").exists()
    assert compiled.exists()


def test_what_an_unknown_compiler_built_is_kept(tree: Path) -> None:
    setup.forget_old_builds(setup.Stamps(), "g++-12", "")
    assert (tree / "build" / "wheel" / "engine.o").exists()


def test_another_compiler_compiles_everything(tree: Path) -> None:
    setup.forget_old_builds(setup.Stamps(), "g++-12", "")
    put(tree / "build" / "wheel" / "CMakeCache.txt")
    setup.forget_old_builds(setup.Stamps(), "g++-13", "")
    assert not (tree / "build" / "wheel").exists()


def test_missing_packages_are_listed_with_the_command_that_brings_them(tmp_path: Path) -> None:
    here = setup.SystemPackage("here", "a", setup.has_file(str(put(tmp_path / "here.h"))))
    absent = setup.SystemPackage("absent", "b", setup.has_file(str(tmp_path / "absent.h")))
    other = setup.SystemPackage("other", "c", setup.has_command("no-such-command-here"))
    assert setup.missing((here, absent, other)) == [absent, other]
    assert setup.apt_command([absent, other]) == "apt-get install absent other"


def test_what_failed_is_not_tried_again_by_itself_but_can_be_asked_for(
    tree: Path, pip: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "pyproject.toml", 'requires = []\ndependencies = []\nmpi = ["mpi4py>=4.1"]\n')
    pip("echo no such package; exit 1")
    setup.install_if_possible("mpi", "MPI", "make mpi", setup.Stamps())
    assert "to install it: make mpi" in capsys.readouterr().out
    setup.install_if_possible("mpi", "MPI", "make mpi", setup.Stamps())
    assert capsys.readouterr().out == ""
    with pytest.raises(setup.SetupError, match="pip failed"):
        setup.install_requirements(["mpi"], setup.Stamps())
    assert "  | no such package" in capsys.readouterr().out


def test_requirements_are_installed_while_isthmus_is_built(
    tree: Path, pip: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "pyproject.toml", 'requires = []\ndependencies = ["numpy"]\n')
    build = f"for i in $(seq 6000); do [ -e {tree}/installed ] && exit; sleep 0.01; done; exit 1"
    install = f"case $* in *--editable*) {build};; *) touch {tree}/installed;; esac"
    pip(install)
    stamps = setup.Stamps()
    with setup.isthmus_built(stamps):
        setup.install_requirements(["dependencies"], stamps)
    assert re.sub(r"\d+ s$", "N s", capsys.readouterr().out, flags=re.MULTILINE).splitlines() == [
        "Installing what isthmus imports from PyPI ... N s",
        "Building isthmus ... N s",
    ]
    with setup.isthmus_built(stamps):  # is there
        setup.install_requirements(["dependencies"], stamps)
    assert capsys.readouterr().out == ""


def test_a_build_is_kept_where_pip_fails_beside_it(tree: Path, pip: Callable[[str], Path]) -> None:
    put(tree / "pyproject.toml", 'requires = []\ndependencies = ["numpy"]\n')
    file = pip("case $* in *--editable*) ;; *) exit 1;; esac")
    stamps = setup.Stamps()
    with pytest.raises(setup.SetupError, match="pip failed"), setup.isthmus_built(stamps):
        setup.install_requirements(["dependencies"], stamps)
    file.unlink()
    with setup.isthmus_built(stamps):
        assert not stamps.has("dependencies", "numpy")


def test_a_build_that_fails_is_shown_after_what_is_done_beside_it(
    tree: Path, pip: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    put(tree / "pyproject.toml", "requires = []\ndependencies = []\n")
    pip("echo no compiler; exit 1")
    with (
        pytest.raises(setup.SetupError, match="the build failed"),
        setup.isthmus_built(setup.Stamps()),
    ):
        print("beside")
    assert capsys.readouterr().out.splitlines() == [
        "beside", "Building isthmus ... failed", "  | no compiler",
    ]  # fmt: skip


@pytest.mark.parametrize("how_far", ["[ 42%]", "[17/97]"])
def test_a_build_says_how_far_it_is_where_there_is_no_terminal(
    how_far: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.0)
    build = f"echo '  {how_far} Building a.o'; echo 'a remark'"
    assert progress.run("Building", ["sh", "-c", build])
    said = capsys.readouterr().out
    assert f"{how_far} Building a.o" in said
    assert "a remark" not in said


def test_a_failed_command_shows_the_end_of_what_it_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert progress.why_not("Trying", ["sh", "-c", "echo no such thing; exit 3"]) == "no such thing"
    assert not progress.run("Trying", ["sh", "-c", "echo no such thing; exit 3"])
    assert "  | no such thing" in capsys.readouterr().out


def test_conformance_of_what_is_no_backend(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("nulll", "no backend 'nulll' in cpp/backends"), ("", "name a backend:")):
        monkeypatch.setattr(sys, "argv", ["cpp_tests.py", "--conformance", name])
        if cpp_tests.CATCH2.exists():
            assert cpp_tests.main() == 2
            error = capsys.readouterr().err
            assert error.startswith(text)
            assert error.endswith("\n")
            assert "null, opencl" in error
        else:
            assert cpp_tests.main() == 1


def test_an_installation_in_one_folder_works(tmp_path: Path) -> None:
    """Sources and what is built lie in two folders here, and in one where pip installs a wheel."""
    (built,) = (path for path in isthmus.__path__ if Path(path) != ROOT / "src" / "isthmus")
    for part in (ROOT / "src" / "isthmus", Path(built)):
        shutil.copytree(part, tmp_path / "isthmus", dirs_exist_ok=True)
    libraries = sysconfig.get_path("platlib")

    def installed(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-S", "-m", "isthmus", *arguments],  # -S: no editable finder
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{libraries}"}, cwd=tmp_path,
            capture_output=True, text=True, check=False, start_new_session=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    names = {entry["backend"] for entry in json.loads(installed("devices", "--json"))}
    assert names == set(backends.registry())
    run = ROOT / "tests" / "data" / "runs" / "2026-11-22-transfer.json"
    cited = installed("cite", str(run), "--format", "bibtex")
    assert (tmp_path / "isthmus" / "CITATION.cff").read_text() == (
        ROOT / "CITATION.cff"
    ).read_text()
    assert "author = {{The Isthmus developers}}" in cited


def test_what_lists_an_installation_makes_one_and_what_builds_a_wheel_does_not() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = dict(re.findall(r"^([a-z]+):.*\n\t\$\(SETUP\) (.*)$", makefile, re.MULTILINE))
    assert set(setup.USES) >= setup.WITHOUT_ISTHMUS
    assert set(recipes["wheel"].split()) <= setup.WITHOUT_ISTHMUS
    assert not set(recipes["sbom"].split()) <= setup.WITHOUT_ISTHMUS
