"""Names the numbers of the xclbin format, as ``xclbin.h`` of XRT 2.13 lists them."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

DATA_MHZ: Final = 300
"""Default clock of kernels (``DATA_CLK``) in MHz, as v++ sets it on Alveo boards. The card assumes
it for boards without a clock (``assumed_kernel_hertz``, timing.cpp), and XRT's queries return it
(``kernel_megahertz``, face.cpp)."""


class Mode(IntEnum):
    """Purpose of a file (``XCLBIN_MODE``); XRT's shims require HW, HW_EMU and SW_EMU."""

    HW = 0
    PR = 1
    TANDEM_STAGE2 = 2
    TANDEM_STAGE2_WITH_PR = 3
    HW_EMU = 4
    SW_EMU = 5
    HW_EMU_PR = 6


class SectionKind(IntEnum):
    """Kinds of sections (``axlf_section_kind``); files may have newer kinds."""

    BITSTREAM = 0
    CLEARING_BITSTREAM = 1
    EMBEDDED_METADATA = 2
    FIRMWARE = 3
    DEBUG_DATA = 4
    SCHED_FIRMWARE = 5
    MEM_TOPOLOGY = 6
    CONNECTIVITY = 7
    IP_LAYOUT = 8
    DEBUG_IP_LAYOUT = 9
    DESIGN_CHECK_POINT = 10
    CLOCK_FREQ_TOPOLOGY = 11
    MCS = 12
    BMC = 13
    BUILD_METADATA = 14
    KEYVALUE_METADATA = 15
    USER_METADATA = 16
    DNA_CERTIFICATE = 17
    PDI = 18
    BITSTREAM_PARTIAL_PDI = 19
    PARTITION_METADATA = 20
    EMULATION_DATA = 21
    SYSTEM_METADATA = 22
    SOFT_KERNEL = 23
    ASK_FLASH = 24
    AIE_METADATA = 25
    GROUP_TOPOLOGY = 26
    GROUP_CONNECTIVITY = 27
    SMARTNIC = 28
    AIE_RESOURCES = 29
    OVERLAY = 30
    VENDER_METADATA = 31


class MemoryType(IntEnum):
    """Types of memories (``MEM_TYPE``)."""

    DDR3 = 0
    DDR4 = 1
    DRAM = 2
    STREAMING = 3
    PREALLOCATED_GLOB = 4
    ARE = 5
    HBM = 6
    BRAM = 7
    URAM = 8
    STREAMING_CONNECTION = 9
    HOST = 10
    PS_KERNEL = 11


class IpType(IntEnum):
    """Types of blocks on the card (``IP_TYPE``)."""

    MB = 0
    KERNEL = 1
    DNASC = 2
    DDR4_CONTROLLER = 3
    MEM_DDR4 = 4
    MEM_HBM = 5
    MEM_HBM_ECC = 6
    PS_KERNEL = 7


class Control(IntEnum):
    """Protocols of a kernel's start and end (``IP_CONTROL``)."""

    AP_CTRL_HS = 0
    AP_CTRL_CHAIN = 1
    AP_CTRL_NONE = 2
    AP_CTRL_ME = 3
    ACCEL_ADAPTER = 4
    FAST_ADAPTER = 5


class ClockType(IntEnum):
    """Types of clocks, by the parts that they drive (``CLOCK_TYPE``)."""

    UNUSED = 0
    DATA = 1
    KERNEL = 2
    SYSTEM = 3
