"""Describes the backend `xrt`: AMD's cards, XRT's noop shim, and emulated cards."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isthmus import xrt_emulation
from isthmus.address import Address
from isthmus.backends import BackendDescription, CardSoftware
from isthmus.candidates import Candidate, Problem
from isthmus.descriptions import DeviceDescription
from isthmus.run_options import BITSTREAM, REGISTERS
from isthmus.system import xrt


class Xrt(BackendDescription):
    """``xrt:0`` (first board), ``xrt:0000:3b:00.1`` (by address), ``xrt:0@noop`` (API alone).

    ``xrt:0@card=u250`` has an emulated card behind it.
    """

    name = "xrt"
    summary = "AMD's cards through XRT's native C++ API"
    schemes = ("xrt",)
    code_template = "xrt_advice.cpp.j2"
    job_template = "xrt_job.cpp.j2"
    card_software = CardSoftware(
        scheme="xrt",
        name="XRT native",
        transfer_s=(4e-6, 2e-6, 13e-6),
        kernel_s=(1e-6, 1e-6, 2e-6),
        has_host_only=True,
    )
    copied_memory = frozenset({"pageable", "aligned", "hugepage"})
    memory_calls = MappingProxyType(
        {
            "aligned": "posix_memalign(4096)",
            "hugepage": "mmap + madvise(MADV_HUGEPAGE)",
            "use_host_ptr": "posix_memalign(4096) + xrt::bo(device, pointer, ...)",
            "alloc_host": "xrt::bo, xrt::bo::map",
            "host_only": "xrt::bo::flags::host_only",
        }
    )
    api_names = MappingProxyType({"xrt": "XRT"})
    run_options = (*BITSTREAM, *REGISTERS)
    modes = (*(mode for mode in xrt.MODES if mode), xrt.CARD)

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        installation = xrt.find()
        if installation is None or not self.library.exists():
            return ()
        return xrt.candidates(installation, scheme, xrt_emulation.default_xclbin)

    def candidates_for(self, address: Address) -> Sequence[Candidate]:
        if not address.mode.startswith(xrt.CARD):
            return super().candidates_for(address)
        if xrt.find() is None or not self.library.exists():
            return ()
        return (xrt_emulation.candidate(address),)

    def problems(self, scheme: str) -> Sequence[Problem]:
        installation = xrt.find()
        if installation is None:
            return (Problem(*xrt.absent()),)
        if not self.library.exists():
            text = f"{installation.name}, but Isthmus was built without its headers"
            return (Problem(text, "apt-get install libxrt-dev uuid-dev, and set Isthmus up again"),)
        return xrt.problems(installation)

    def id_in(self, scheme: str, device: DeviceDescription) -> str:
        # The id is NUMBER@PCI-ADDRESS, so that the worker notices a renumbering of boards.
        return device.id.partition("@")[0]

    def software_alone(self, address: Address) -> str:
        return xrt.software_alone(address)


BACKEND = Xrt()
