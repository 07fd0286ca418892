"""The emulated card behind the real XRT: what programs see, and what is left of a crash."""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import isthmus_emulation
from conftest import LIMIT_S
from isthmus import boards
from isthmus.errors import NoDeviceError, UsageError
from isthmus_emulation import elf, kernels, page
from isthmus_emulation.root import MODE
from isthmus_emulation.session import CLOCK


def installation() -> None:
    try:
        isthmus_emulation.prepare(["u250"]).close()
    except NoDeviceError as error:
        pytest.skip(f"no XRT behind which a card is emulated: {error}")


def folders() -> set[Path]:
    return {f for f in Path("/tmp").glob("isthmus-card-*") if f"-{os.getpid()}-" in f.name}


def environment(session: isthmus_emulation.Session) -> dict[str, str]:
    both = {**os.environ, **session.environment}
    return {k: v for k, v in both.items() if v or k not in session.environment}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that uses XRT's native API; compiled once."""
    installation()
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/xrt/xrt/xrt_bo.h").exists():
        pytest.skip("no compiler, or no headers of XRT (libxrt-dev)")
    folder = tmp_path_factory.mktemp("program")
    source = folder / "program.cpp"
    source.write_text(PROGRAM)
    path = folder / "program"
    libraries = ["-lxrt_coreutil", "-luuid", "-pthread"]
    subprocess.run(
        [compiler, "-std=c++17", "-I/usr/include/xrt", str(source), "-o", str(path), *libraries],
        check=True,
    )
    return path


PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#include <experimental/xrt_ip.h>
int main(int count, char** words) {
  const std::string what = words[2];
  try {
    xrt::device device(count > 3 ? std::atoi(words[3]) : 0);
    auto id = device.load_xclbin(std::string(words[1]));
    if (what == "nothing") return 0;
    if (what == "copy") {
      xrt::bo from(device, 8192, 0), to(device, 8192, 0);
      std::memset(from.map<char*>(), 7, 8192);
      from.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      to.copy(from, 4096, 0, 0);
      to.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
      const char* data = to.map<char*>();
      for (int i = 0; i < 8192; ++i) if (data[i] != (i < 4096 ? 7 : 0)) return 3;
    }
    if (what == "registers") {
      xrt::ip ip(device, id, "vadd:{vadd_1}");
      ip.write_register(0x34, 0xcafe);
      if (ip.read_register(0x34) != 0xcafe || ip.read_register(0) != 4) return 3;
    }
    if (what == "host") {
      xrt::kernel kernel(device, id, "bandwidth");
      const std::size_t bytes = 3 << 20;
      const auto kind = xrt::bo::flags::host_only;
      xrt::bo from(device, bytes, kind, kernel.group_id(0));
      xrt::bo to(device, bytes, kind, kernel.group_id(1));
      for (std::size_t i = 0; i < bytes; ++i) from.map<char*>()[i] = i * 7;
      auto run = kernel(from, to, bytes, std::size_t{1024});
      run.wait();
      if (std::memcmp(from.map<char*>(), to.map<char*>(), bytes)) return 3;
    }
    if (what == "vadd") {
      xrt::kernel kernel(device, id, "vadd");
      const unsigned n = 5000;
      auto buffer = [&] { return xrt::bo(device, n * 4, kernel.group_id(0)); };
      xrt::bo a = buffer(), b = buffer(), c = buffer();
      for (unsigned i = 0; i < n; ++i) { a.map<unsigned*>()[i] = i; b.map<unsigned*>()[i] = 3 * i; }
      a.sync(XCL_BO_SYNC_BO_TO_DEVICE); b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      xrt::run run(kernel);
      run.set_arg(0, a); run.set_arg(1, b); run.set_arg(2, c); run.set_arg(3, n);
      run.start(); run.wait();
      c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
      for (unsigned i = 0; i < n; ++i) if (c.map<unsigned*>()[i] != 4 * i) return 3;
    }
    if (what == "scale") {
      xrt::kernel kernel(device, id, "scale");
      xrt::bo data(device, 4096, 0);
      for (int i = 0; i < 1024; ++i) data.map<int*>()[i] = i;
      data.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      auto run = kernel(data, 1024u, 5u); run.wait();
      data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
      for (int i = 0; i < 1024; ++i) if (data.map<int*>()[i] != 5 * i) return 3;
    }
    if (what == "small") {
      std::vector<xrt::bo> all;
      for (int round = 0; round < 300; ++round) {
        xrt::bo buffer(device, 1 + round % 50, 0);
        std::memset(buffer.map<char*>(), round, 1 + round % 50);
        buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        if (round % 3 == 0) all.push_back(buffer);
        std::vector<char> heap(100 + round); heap[round] = 1;
      }
    }
    std::puts("fine");
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
    return 2;
  }
}
"""


@pytest.fixture
def xclbin(tmp_path: Path) -> Path:
    path = tmp_path / "card.xclbin"
    path.write_bytes(kernels.default(boards.load("u250"), "hw_emu").build().encode())
    return path


def run(
    program: Path, session: isthmus_emulation.Session, *words: object
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, words)],
        env=environment(session),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        start_new_session=True,
        check=False,
    )


@pytest.fixture
def session() -> Iterator[isthmus_emulation.Session]:
    installation()
    with isthmus_emulation.prepare(["u250"], trace=True) as made:
        yield made
    assert not made.directory.exists()


@pytest.mark.parametrize("what", ["nothing", "copy", "registers", "vadd", "host", "small"])
def test_a_program_works(
    program: Path, xclbin: Path, session: isthmus_emulation.Session, what: str
) -> None:
    done = run(program, session, xclbin, what)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_happened_is_told(
    program: Path, xclbin: Path, session: isthmus_emulation.Session
) -> None:
    run(program, session, xclbin, "vadd")
    (slot,) = session.used()
    assert (slot.card, slot.kernels, slot.bytes_to_card) == (0, 1, 40_000)
    assert slot.elapsed_fs == slot.simulated_fs + slot.driver_fs > 0
    (events,) = session.events
    heading, *lines = events.read_text().splitlines()
    assert "board u250" in heading
    kinds = [line.split("\t")[0] for line in lines]
    kinds.remove("facts")  # on the kernel
    assert kinds == ["write", "write", "launch", "kernel", "read"]


def test_equal_programs_take_equal_simulated_time(program: Path, xclbin: Path) -> None:
    installation()
    times = []
    for _ in range(2):
        with isthmus_emulation.prepare(["u250"]) as session:
            run(program, session, xclbin, "vadd")
            times.append([slot.elapsed_fs for slot in session.used()])
    assert times[0] == times[1]


def test_several_cards(program: Path, xclbin: Path) -> None:
    installation()
    with isthmus_emulation.prepare(["u250", "u250,link.lanes=8"], trace=True) as session:
        for card in (0, 1):
            assert run(program, session, xclbin, "vadd", card).returncode == 0
        first, second = sorted(session.used(), key=lambda slot: slot.card)
        assert (first.card, second.card) == (0, 1)
        assert first.simulated_fs < second.simulated_fs


def test_a_program_believes_that_it_is_on_a_board(program: Path, tmp_path: Path) -> None:
    installation()
    xclbin = tmp_path / "card.xclbin"
    xclbin.write_bytes(kernels.default(boards.load("u250"), "hw").build().encode())
    with isthmus_emulation.prepare(["u250"], as_hardware=True) as session:
        assert MODE not in environment(session)
        assert run(program, session, xclbin, "vadd").returncode == 0


def test_a_kernel_of_ones_own(program: Path, tmp_path: Path) -> None:
    from isthmus_emulation.xclbin import Argument, Bank, Design, Kernel

    installation()
    folder = tmp_path / "kernels"
    folder.mkdir()
    source = tmp_path / "scale.cpp"
    source.write_text(
        textwrap.dedent(r"""
        #include <cstring>
        #include <vector>
        #include "isthmus/card/kernel_plugin.h"
        int isthmus_kernel(isthmus_kernel_run* run) {
          uint64_t data; uint32_t count, by;
          std::memcpy(&data, run->registers + 0x10, 8);
          std::memcpy(&count, run->registers + 0x1c, 4);
          std::memcpy(&by, run->registers + 0x24, 4);
          std::vector<int32_t> values(count);
          if (run->read(run->card, data, values.data(), 4 * count)) return 1;
          for (auto& value : values) value *= by;
          run->cycles = 1000000;
          return run->write(run->card, data, values.data(), 4 * count);
        }
        """)
    )
    header = CLOCK.parent / "include"
    build = ["g++", "-shared", "-fPIC", f"-I{header}", str(source), "-o", str(folder / "scale.so")]
    subprocess.run(build, check=True)
    scale = Kernel(
        "scale",
        (Argument("data", "int*"), Argument("count", "unsigned"), Argument("by", "unsigned")),
    )
    xclbin = tmp_path / "scale.xclbin"
    design = Design(memories=(Bank("bank0"),), kernels=(scale,), mode="hw_emu")
    xclbin.write_bytes(design.build().encode())
    with isthmus_emulation.prepare(["u250"], kernels=[folder]) as session:
        done = run(program, session, xclbin, "scale")
        assert done.returncode == 0, done.stdout + done.stderr
        (slot,) = session.used()
        clock = boards.load("u250").hertz("kernel.clock_MHz")
        assert slot.kernel_fs == pytest.approx(1e6 / clock * 1e15, rel=1e-6)
    with isthmus_emulation.prepare(["u250"]) as session:  # without it
        done = run(program, session, xclbin, "scale")
        assert done.returncode != 0
        assert "has no kernel 'scale'" in done.stderr


def test_an_xclbin_for_another_card_is_refused(program: Path, tmp_path: Path) -> None:
    installation()
    xclbin = tmp_path / "other.xclbin"
    design = kernels.default(boards.load("u250"), "hw_emu")
    xclbin.write_bytes(design.build(bytes(64)).encode())
    with isthmus_emulation.prepare(["u250"]) as session:
        done = run(program, session, xclbin, "vadd")
    assert done.returncode != 0
    assert "does not say what is on an emulated card" in done.stderr


def test_many_at_a_time_and_one_after_another(program: Path, xclbin: Path) -> None:
    installation()
    rounds = int(os.environ.get("ISTHMUS_TEST_STARTS", "20")) // 10
    for _ in range(rounds):
        sessions = [isthmus_emulation.prepare(["u250"]) for _ in range(10)]
        hosts = [
            subprocess.Popen(
                [program, xclbin, "copy"],
                env=environment(session),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            for session in sessions
        ]
        for host, session in zip(hosts, sessions, strict=True):
            said, wrong = host.communicate(timeout=LIMIT_S)
            assert host.returncode == 0, said + wrong
            session.close()
    assert not folders()


def test_a_full_disk_is_told(
    program: Path, xclbin: Path, session: isthmus_emulation.Session
) -> None:
    def little_room() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [program, xclbin, "vadd"],
        env=environment(session),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        start_new_session=True,
        preexec_fn=little_room,
        check=False,
    )
    assert done.returncode != 0
    assert "isthmus: emulated card: " in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_what_is_wrong_is_said_before_anything_starts() -> None:
    installation()
    with pytest.raises(UsageError, match="unknown board"):
        isthmus_emulation.prepare(["no-such-board"])
    with pytest.raises(UsageError, match="no folder with kernels"):
        isthmus_emulation.prepare(["u250"], kernels=[Path("/nowhere")])
    with pytest.raises(UsageError, match="0 cards"):
        isthmus_emulation.prepare([])
    assert not folders()


def test_folders_of_the_dead_are_removed() -> None:
    installation()
    dead = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    left = Path(f"/tmp/isthmus-card-{dead.stdout.strip()}-left")
    left.mkdir()
    with isthmus_emulation.prepare(["u250"]):
        assert not left.exists()


@pytest.fixture
def of_a_living_number() -> Iterator[tuple[Path, Path]]:
    """Folders of sessions without a lock: older than the process of their number, and younger."""
    installation()
    with subprocess.Popen(["sleep", str(LIMIT_S)]) as process:
        older, younger = (Path(f"/tmp/isthmus-card-{process.pid}-{age}") for age in ("old", "new"))
        for folder in (older, younger):
            folder.mkdir()
        hour_ago = time.time() - 3600
        os.utime(older, (hour_ago, hour_ago))
        yield older, younger
        process.kill()
    for folder in (older, younger):
        shutil.rmtree(folder, ignore_errors=True)


def test_a_number_that_another_process_has_by_now_keeps_no_folder(
    of_a_living_number: tuple[Path, Path],
) -> None:
    older, younger = of_a_living_number
    isthmus_emulation.prepare(["u250"]).close()
    assert not older.exists()
    assert younger.exists()


def test_an_unlocked_folder_goes_also_where_its_number_lives(
    of_a_living_number: tuple[Path, Path],
) -> None:
    """A session locks its folder before the lock has its name."""
    _, younger = of_a_living_number
    (younger / "lock").touch()
    isthmus_emulation.prepare(["u250"]).close()
    assert not younger.exists()


def test_no_link_is_followed_and_no_other_name_touched(tmp_path: Path) -> None:
    installation()
    (tmp_path / "precious").touch()
    names = ("isthmus-card-4194303-link", "isthmus-card-mine-1", "isthmus-card-99999999999-1")
    link, *folders = (Path("/tmp", name) for name in names)
    try:
        link.symlink_to(tmp_path)
        for folder in folders:
            folder.mkdir()
        isthmus_emulation.prepare(["u250"]).close()
        assert (tmp_path / "precious").exists()
        assert all(path.exists() for path in (link, *folders))
    finally:
        link.unlink(missing_ok=True)
        for folder in folders:
            folder.rmdir()


def test_the_page_is_read_as_it_was_made(tmp_path: Path) -> None:
    made = page.create(tmp_path / "page", clock=True)
    assert page.read(made) == []
    made.write_bytes(b"x" * 100_000)
    with pytest.raises(ValueError, match="no page"):
        page.read(made)


def test_a_library_that_is_none_is_refused() -> None:
    for wrong in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(100), bytes(1000)):
        with pytest.raises(ValueError, match="library"):
            elf.symbols(wrong)


def test_a_folder_stays_while_its_lock_is_held() -> None:
    """As that of a process in another container, whose number is nobody's here."""
    installation()
    ended = subprocess.Popen(["true"])
    ended.wait()
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    with (made / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Only now does it have a name that every Isthmus on the machine looks for.
        folder = made.rename(f"/tmp/isthmus-card-{ended.pid}-{made.name}")
        isthmus_emulation.prepare(["u250"]).close()
        assert folder.exists()
    isthmus_emulation.prepare(["u250"]).close()
    assert not folder.exists()


def test_a_session_holds_the_lock_of_its_folder() -> None:
    installation()
    with (
        isthmus_emulation.prepare(["u250"]) as session,
        (session.directory / "lock").open() as lock,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
