"""XRT without a board: native API and AMD's OpenCL on the noop shim, and what can break.

Tests that open the noop shim's device need an xclbin, which the emulation of XRT writes.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from conftest import Command, slow
from isthmus import xrt_emulation
from isthmus.backends import by_scheme
from isthmus.errors import IsthmusError, NoDeviceError
from isthmus.measure import protocol
from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.supervisor import WorkerProcess, WorkerRefusedError
from isthmus.system import xrt

NATIVE = "xrt:0@noop"
OPENCL = "xocl:0@noop"
BESIDE = "null:1us"
SOURCES = Path(__file__).parents[1] / "src"
ENDINGS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSEGV": "ctypes.string_at(0)",
    "SIGABRT": "os.abort()",
    "SIGTERM": "os.kill(0, signal.SIGTERM)",
}


@pytest.fixture(scope="session", autouse=True)
def noop() -> None:
    try:
        resolve(NATIVE)
        resolve(OPENCL)
    except IsthmusError as error:
        pytest.skip(f"no XRT with a noop shim here: {error}")


def run(isthmus: Command, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    ended = isthmus("run", "transfer", *arguments, "--precision", "0.5", "--reruns", "1",
                    "--out", "run.json", env=env)  # fmt: skip
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stderr


def rows(isthmus: Command) -> list[dict[str, str]]:
    shown = isthmus("show", "run.json", "--format", "csv")
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def opened(device: FoundDevice, options: dict[str, str], env: dict[str, str] | None = None) -> str:
    """The bitstream that an open device uses."""
    with WorkerProcess({**device.candidate.environment, **(env or {})}) as worker:
        request = protocol.OpenDevice(str(device.backend.library), device.description.id, options)
        answer = worker.ask(request)
    assert isinstance(answer, protocol.Opened)
    return answer.device.properties.get("xclbin", "")


@pytest.mark.emulation
def test_both_apis_in_one_run(isthmus: Command) -> None:
    code, said = run(isthmus, "--device", NATIVE, "--device", OPENCL, "--axis", "bytes=1,4097,1Mi")
    assert code == 0, said
    points = rows(isthmus)
    operations = {
        device: {row["operation"] for row in points if row["device"] == device}
        for device in (NATIVE, OPENCL)
    }
    assert operations[NATIVE] == {"read", "write", "read_rw", "write_rw", "launch"}
    assert operations[OPENCL] == operations[NATIVE] | {"bidirectional", "map", "unmap"}
    for row in points:
        # Nothing is behind the API: nothing to verify, and no rate to show.
        assert row["verified"] == "na", row
        assert not float(row["bandwidth_Bps"] or 0), row
        assert int(row["samples"]) >= 25, row
    median = {
        (row["device"], row["operation"]): float(row["median_s"])
        for row in points
        if row["bytes"] == "1"
    }
    for operation in ("read", "write"):
        assert median[OPENCL, operation] > 20 * median[NATIVE, operation]


@pytest.mark.emulation
def test_memory_kinds_of_the_native_api(isthmus: Command) -> None:
    kinds = ("alloc_host", "use_host_ptr", "aligned", "hugepage", "offset64", "host_only")
    code, said = run(isthmus, "--device", NATIVE, "--axis", "bytes=64Ki", "--axis",
                     "operation=write,read", "--axis", f"memory={','.join(kinds)}",
                     "--axis", "depth=1,4")  # fmt: skip
    assert code == 0, said
    points = {(row["operation"], row["memory"], row["depth"]) for row in rows(isthmus)}
    assert points == set(product(("read", "write"), kinds, ("1", "4")))


@pytest.mark.emulation
def test_banks_are_those_of_the_bitstream(isthmus: Command) -> None:
    code, said = run(isthmus, "--device", NATIVE, "--axis", "bytes=1", "--axis", "operation=write",
                     "--axis", "bank=0,1,2")  # fmt: skip
    assert code == 0, said
    assert [row["bank"] for row in rows(isthmus)] == ["0", "1"]


@pytest.mark.emulation
def test_settings_in_the_working_folder_do_not_matter(isthmus: Command, tmp_path: Path) -> None:
    # With the software scheduler the noop shim dies at the first launch.
    (tmp_path / "xrt.ini").write_text("[Runtime]\nsws=true\n")
    code, said = run(isthmus, "--device", NATIVE, "--axis", "operation=launch")
    assert code == 0, said


@pytest.mark.emulation
@pytest.mark.parametrize("address", [NATIVE, OPENCL])
def test_that_nothing_moves_is_found_out(address: str) -> None:
    device = resolve(address)
    assert device.description.properties["keeps_data"] == "no"
    assert not device.real


def test_a_damaged_bitstream_costs_one_device(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.xclbin").write_bytes(b"xclbin2\0" + bytes(600))
    code, said = run(isthmus, "--device", NATIVE, "--device", BESIDE, "--xclbin", "bad.xclbin",
                     "--axis", "bytes=1,64", "--axis", "operation=write")  # fmt: skip
    assert code == 1
    assert said.count("bad.xclbin") == 1
    assert {(row["device"], row["bytes"]) for row in rows(isthmus)} == {
        (BESIDE, "1"), (BESIDE, "64")}  # fmt: skip


@pytest.mark.parametrize("address", [NATIVE, OPENCL])
def test_a_bitstream_that_is_not_there_is_the_users_mistake(isthmus: Command, address: str) -> None:
    code, said = run(isthmus, "--device", address, "--xclbin", "nowhere.xclbin")
    assert code == 2
    assert "nowhere.xclbin" in said


@pytest.mark.emulation
@pytest.mark.parametrize("address", [NATIVE, OPENCL])
def test_nothing_is_programmed_without_leave(address: str) -> None:
    device = resolve(address)
    image = str(xrt_emulation.default_xclbin())
    as_on_a_board = {"ISTHMUS_MAY_PROGRAM": ""}
    with pytest.raises(WorkerRefusedError, match="--allow-program") as refused:
        opened(device, {"xclbin": image}, as_on_a_board)
    assert refused.value.usage
    opened(device, {"xclbin": image, "allow_program": "yes"}, as_on_a_board)


def test_without_any_bitstream_the_cure_is_told() -> None:
    with pytest.raises(WorkerRefusedError, match="isthmus xclbin write"):
        opened(resolve(NATIVE), {"xclbin": "loaded"})


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("address", "ending"),
    [
        (NATIVE, "SIGKILL"),
        (OPENCL, "SIGABRT"),
        *slow(*((NATIVE, ending) for ending in ENDINGS if ending != "SIGKILL")),
    ],
)
def test_a_dying_device_process_takes_nobody_with_it(
    isthmus: Command, tmp_path: Path, address: str, ending: str
) -> None:
    # Runs in every worker; the first worker of XRT that has measured a little dies.
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "msgspec.py").write_text(
        "import ctypes, os, signal, sys, threading, time\n"
        "sys.path.remove(os.path.dirname(__file__))\n"
        "del sys.modules['msgspec']\n"
        "import msgspec\n"
        "def strike():\n"
        "    main = sys.modules['__main__']\n"
        "    while not hasattr(main, 'serve'):\n"
        "        time.sleep(0.001)\n"
        "    answer, left = main.DeviceServer.answer, [3]\n"
        "    def answered(self, request):\n"
        "        left[0] -= type(request).__name__ == 'Measure'\n"
        "        if left[0] == 0 and not os.path.exists('struck'):\n"
        "            open('struck', 'w').close()\n"
        f"            {ENDINGS[ending]}\n"
        "        return answer(self, request)\n"
        "    main.DeviceServer.answer = answered\n"
        "if os.environ.get('XCL_EMULATION_MODE') == 'noop':\n"
        "    threading.Thread(target=strike, daemon=True).start()\n"
    )
    # Workers read PYTHONPATH where Isthmus itself comes from it.
    where = {"PYTHONPATH": f"{hooks}:{SOURCES}"}
    code, said = run(isthmus, "--device", address, "--device", BESIDE, "--axis", "bytes=1:64Ki",
                     "--axis", "operation=write", env=where)  # fmt: skip
    assert (tmp_path / "struck").exists()
    assert code == 1
    assert said.count(f"died by {ending}") == 1
    points = rows(isthmus)
    whole = [row for row in points if "failed" not in row["flags"] and int(row["samples"]) >= 25]
    assert sum(row["device"] == BESIDE for row in whole) == 17
    assert sum(row["device"] == address for row in whole) == 16


def test_a_missing_shim_is_named(isthmus: Command, tmp_path: Path) -> None:
    installation = xrt.find()
    assert installation is not None
    (tmp_path / "lib").mkdir()
    for name in (xrt.NATIVE, "xrt_core"):
        library = installation.library(name)
        assert library is not None
        (tmp_path / "lib" / library.name).symlink_to(library)
    code, said = run(isthmus, "--device", NATIVE, "--device", BESIDE, "--axis", "bytes=1",
                     "--axis", "operation=write", env={"XILINX_XRT": str(tmp_path)})  # fmt: skip
    assert code == 1
    assert "/lib: no libxrt_noop" in said
    assert [row["device"] for row in rows(isthmus)] == [BESIDE]


@pytest.mark.skipif(not shutil.which("c++"), reason="no compiler")
def test_an_xrt_without_the_functions_is_refused_by_its_version(
    isthmus: Command, tmp_path: Path
) -> None:
    """Of another version: it exports none of the functions that the backend calls."""
    folder = tmp_path / "lib"
    folder.mkdir()
    (tmp_path / "none.cpp").write_text('extern "C" void xrtDeviceOpen() {}')
    library = folder / "libxrt_coreutil.so.2.1.0"
    subprocess.run(["c++", "-shared", "-o", library, tmp_path / "none.cpp"], check=True)
    (folder / "libxrt_coreutil.so.2").symlink_to(library.name)
    (folder / "libxrt_noop.so.2").symlink_to(library.name)
    done = isthmus("run", "transfer", "--device", "xrt:0@noop", env={"XILINX_XRT": str(tmp_path)})
    assert done.returncode == 4
    assert "libxrt_coreutil.so.2.1.0 cannot be used by a build for XRT 2." in done.stderr
    assert "undefined symbol" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_xrt_the_cure_is_told(isthmus: Command, tmp_path: Path) -> None:
    elsewhere = {"XILINX_XRT": str(tmp_path)}
    code, said = run(isthmus, "--device", OPENCL, "--device", BESIDE, "--axis", "bytes=1",
                     "--axis", "operation=write", env=elsewhere)  # fmt: skip
    assert code == 1
    assert "no libxrt_coreutil" in said
    assert [row["device"] for row in rows(isthmus)] == [BESIDE]
    listed = isthmus("devices", env=elsewhere)
    assert "name an installation of XRT" in " ".join(listed.stdout.split())


def test_devices_tells_what_works_and_what_does_not(isthmus: Command) -> None:
    listed = isthmus("devices", "--json", env={"XILINX_VITIS": "/nowhere"})
    backends = {b["backend"]: b for b in json.loads(listed.stdout)}
    native = backends["xrt"]
    assert NATIVE in {d["address"] for d in native["devices"]}
    assert OPENCL in {d["address"] for d in backends["opencl"]["devices"]}
    text = " ".join(problem["what"] for problem in native["problems"])
    assert "XRT 2." in text
    assert "@hw_emu" in text
    assert all(problem["cure"] for problem in native["problems"])


def test_boards_are_what_the_driver_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xrt, "_BUSES", tmp_path)
    monkeypatch.delenv("XCL_EMULATION_MODE", raising=False)
    card = tmp_path / "pci" / "devices" / "0000:3b:00.1"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10ee\n")
    (card / "class").write_text("0x120000\n")
    installation = xrt.find()
    assert installation is not None
    unserved = installation.obstacle(xrt.HARDWARE)
    assert unserved is not None
    assert "0000:3b:00.1" in unserved.what
    driver = tmp_path / "pci" / "drivers" / "xocl"
    driver.mkdir(parents=True)
    (card / "driver").symlink_to(driver)
    (driver / card.name).symlink_to(card)
    assert xrt.boards() == ["0000:3b:00.1"]
    assert installation.obstacle(xrt.HARDWARE) is None
    monkeypatch.setenv("XCL_EMULATION_MODE", "noop")
    assert installation.obstacle(xrt.HARDWARE) is not None


def test_libraries_outside_a_lib_folder_get_a_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    libraries = tmp_path / "multiarch"
    libraries.mkdir()
    (libraries / "libxrt_coreutil.so.2.9.1").touch()
    (libraries / "libxrt_coreutil.so.2").symlink_to("libxrt_coreutil.so.2.9.1")
    installation = xrt.Installation(libraries)
    assert installation.version == "2.9.1"
    root = installation.root()
    assert (root / "lib").resolve() == libraries
    assert installation.root() == root
    assert installation.environment("noop", "x")["XILINX_XRT"] == str(root)


def test_an_unknown_device_is_told() -> None:
    with pytest.raises(IsthmusError, match="here: xrt:0"):
        resolve("xrt:7@noop")
    with pytest.raises(NoDeviceError):
        resolve("opencl:nothing@noop")


def test_what_a_shell_exports_programs_no_board() -> None:
    for device in (resolve(NATIVE), resolve(OPENCL)):
        standard = {"ISTHMUS_MAY_PROGRAM": ""}  # the binary is named, permission is not given
        with (
            WorkerProcess({**device.candidate.environment, **standard}) as worker,
            pytest.raises(WorkerRefusedError, match=r"--xclbin|--allow-program"),
        ):
            worker.ask(device.open_request())
    assert xrt.bitstreams(xrt.HARDWARE)["ISTHMUS_MAY_PROGRAM"] == ""
    assert xrt.bitstreams(xrt.HARDWARE)["ISTHMUS_DEFAULT_BINARY"] == ""


@pytest.mark.emulation
def test_a_resumed_run_without_xrt_shows_no_hardware(isthmus: Command, tmp_path: Path) -> None:
    code, said = run(isthmus, "--device", NATIVE, "--device", BESIDE, "--axis", "bytes=1",
                     "--axis", "operation=write")  # fmt: skip
    assert code == 0, said
    isthmus("run", "transfer", "--resume", "--out", "run.json",
            env={"XILINX_XRT": str(tmp_path)})  # fmt: skip
    device = json.loads((tmp_path / "run.json").read_text())["devices"][0]
    assert device["address"] == NATIVE
    assert not device["real"]
    assert device["properties"]["keeps_data"] == "no"
    assert device["error"]


def test_the_icd_loader_leaves_amds_runtime_to_its_own_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "amd.icd").write_text("/opt/xilinx/xrt/lib/libxilinxopencl.so\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    backend = by_scheme("opencl")
    assert not [c for c in backend.candidates("opencl") if "xilinx" in c.label]
    assert [c for c in backend.candidates("xocl") if c.mode == "noop"]
