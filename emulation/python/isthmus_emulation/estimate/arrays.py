"""Finds where a kernel's arrays and streams lie: in RAM, registers, memory, or streams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from isthmus_emulation.estimate import libclang
from isthmus_emulation.estimate.cursors import elements, is_constant
from isthmus_emulation.estimate.preprocessed import Preprocessed, pragma
from isthmus_emulation.estimate.structure import Pragma, Storage, plain

SMALL_ARRAY = 4
"""Most elements of an array that HLS makes registers (UG1399, complete_threshold)."""
DEFAULT_BUNDLE = "gmem"
"""Port of arguments in memory whose pragmas name no port (UG1399, pragma HLS interface)."""
KERNEL_FLOW_BITS = 512
"""Most bits to which HLS widens a port for several elements at once: the default of
m_axi_max_widen_bitwidth in the Vitis flow (UG1399, config_interface; 0 in the IP flow)."""
KERNEL_FLOW_LATENCY = 64
"""Cycles that HLS assumes from a request to the requested word: the default of m_axi_latency in
the Vitis flow (UG1399, config_interface; 0 in the IP flow). A request has 71 states in schedules of
ihsanalhafiz/Alveo_FPGA_Design_Workshop, and 8 in those of WYI1223/ECE8893MyLab, in the IP flow."""
SMALL_TABLE = 256
"""Most elements of a constant array that counts as logic, not as a RAM with ports."""


class NotReadError(Exception):
    """Error: code of the kernel cannot be estimated; the text says which: ``it has tasks``."""


class Arrays:
    """Arrays, streams and constants by their declarations, and the pragmas on them."""

    def __init__(
        self, clang: Any, source: Preprocessed, kernel_flow: bool, constants: dict[str, int]
    ) -> None:
        self._clang = clang
        self._source = source
        self._kernel_flow = kernel_flow
        self._constants = dict(constants)
        self._storage: dict[str, Storage] = {}
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._of_parameters: dict[str, list[Pragma]] = {}
        """Partitions of parameters, by the arrays and parameters that calls give them."""
        self._latency = KERNEL_FLOW_LATENCY if kernel_flow else 0
        self._widest = KERNEL_FLOW_BITS if kernel_flow else 0

    @staticmethod
    def _name(cursor: Any) -> str:
        # extents of "int a, b" differ by the way to them
        return f"{cursor.spelling}@{cursor.location.offset}"

    def _pragma(self, text: str) -> Pragma:
        return pragma(text, self._constants.get)

    def _declare(self, cursor: Any, *, is_argument: bool = False, is_top: bool = False) -> None:
        """Notes where an array or stream lies, and the value of a constant."""
        kind = cursor.type.get_canonical().get_pointee().kind.name
        spelled = cursor.type.get_canonical().spelling
        name = self._name(cursor)
        is_array = cursor.type.get_canonical().kind.name in {"CONSTANTARRAY", "INCOMPLETEARRAY"}
        if "hls::task" in spelled:
            raise NotReadError("it has tasks (hls::task)")
        if "hls::stream" in spelled or "ap_shift_reg" in spelled:
            self._storage[name] = Storage("stream" if "hls::stream" in spelled else "registers")
        elif "burst_maxi" in spelled:
            self._storage[name] = Storage("memory", port=name)
        elif is_argument and (kind != "INVALID" or is_array) and "&" not in spelled[-1:]:
            if is_top:
                place = "memory" if self._kernel_flow else "ram"
                bits = 8 * max(0, _element(cursor.type.get_canonical()).get_size())
                self._storage[name] = (
                    Storage("memory", port=DEFAULT_BUNDLE, bits=bits, widest=self._widest,
                            latency=self._latency)
                    if place == "memory" else Storage("ram", port=name, bits=bits)
                )  # fmt: skip
        elif is_array and name not in self._storage:
            size = elements(cursor.type.get_canonical())
            of_constants = is_constant(cursor.type)
            limit = SMALL_TABLE if of_constants else SMALL_ARRAY
            small = size is not None and size <= limit
            place = "registers" if small else "ram"
            self._storage[name] = Storage(place, is_constant=of_constants)  # type: ignore[arg-type]
        if not is_argument and cursor.type.is_const_qualified():
            known = libclang.constant(self._clang, cursor)
            if known is not None:
                self._constants[cursor.spelling] = known

    def _place_arrays(self, arguments: Sequence[Any], pragmas: Sequence[Pragma]) -> None:
        """Applies the pragmas INTERFACE and ARRAY_PARTITION to the arrays."""
        by_name = {argument.spelling: self._name(argument) for argument in arguments}
        for directive in pragmas:
            words = {*directive.options, directive.options.get("mode", "")}
            port = by_name.get(directive.options.get("port", ""))
            if directive.name == "interface" and port is not None and port in self._storage:
                if "m_axi" in words:
                    said, wide = directive.number("latency"), directive.number("max_widen_bitwidth")
                    self._storage[port] = Storage(
                        "memory",
                        port=directive.options.get("bundle", DEFAULT_BUNDLE),
                        bits=self._storage[port].bits,
                        widest=self._widest if wide is None else wide,
                        latency=self._latency if said is None else said,
                    )
                elif words & {"bram", "ap_memory"}:
                    self._storage[port] = Storage("ram", port=port)
                elif words & {"axis", "ap_fifo"}:
                    self._storage[port] = Storage("stream")
            if directive.name in {"array_partition", "array_reshape"}:
                self._partition(directive)
            if directive.name in {"bind_storage", "resource"}:
                self._bind(directive)

    def _pass_on(self, parameter: str, array: str, pragmas: Sequence[Pragma]) -> None:
        """Applies partitions of a function's parameter to the array that a call gives it."""
        own = [
            one for one in pragmas
            if one.name in {"array_partition", "array_reshape"}
            and one.options.get("variable") == plain(parameter)
        ]  # fmt: skip
        for one in [*own, *self._of_parameters.get(parameter, ())]:
            done = self._of_parameters.setdefault(array, [])
            if one not in done:
                done.append(one)
                self._partition(one, array)

    def _partition(self, pragma: Pragma, array: str = "") -> None:
        """Applies a partition to the arrays that it names, or to this array."""
        variable = pragma.options.get("variable", "")
        for name, there in list(self._storage.items()):
            is_meant = name == array if array else plain(name) == variable
            if not is_meant or there.kind not in {"ram", "memory"}:
                continue
            words = {*pragma.options, pragma.options.get("type", "")}
            if "cyclic" in words or "block" in words:
                banks = there.banks * (pragma.number("factor") or 2)
                self._storage[name] = msgspec.structs.replace(there, banks=banks, partitioned=True)
            elif pragma.options.get("dim", "1") == "0":
                self._storage[name] = msgspec.structs.replace(there, kind="registers")
            else:
                self._storage[name] = self._complete(name, there, pragma.number("dim") or 1)

    def _bind(self, pragma: Pragma) -> None:
        """Applies a pragma BIND_STORAGE, or RESOURCE of earlier versions, on RAM with one port."""
        words = {option.lower() for option in pragma.options.values()}
        if not any(word.startswith(("ram_1p", "rom_1p")) for word in words):
            return
        for name, there in self._storage.items():
            if plain(name) == pragma.options.get("variable", "") and there.kind == "ram":
                self._storage[name] = msgspec.structs.replace(there, ram_ports=1)

    def _complete(self, name: str, there: Storage, dimension: int) -> Storage:
        """Storage of an array after a pragma has partitioned one dimension completely."""
        sizes = self._sizes.get(name, ())
        banks = there.banks * (sizes[dimension - 1] if dimension <= len(sizes) else 1)
        words = -(-math.prod(sizes) // max(1, banks))
        # HLS makes registers of short rows, too. It splits no port of an argument further: rows of
        # 3 words in top_kernel of asandeep1/FPGA_ECE8893, 2025.1.1, have II 1.
        if len(sizes) <= 1 or words == 1 or (words <= SMALL_ARRAY and not there.port):
            return msgspec.structs.replace(there, kind="registers")
        return msgspec.structs.replace(there, kind="ram", banks=banks, partitioned=True)

    def _is_stream(self, name: str) -> bool:
        return name in self._storage and self._storage[name].kind == "stream"


def _element(of: Any) -> Any:
    """Type that a pointer refers to, or type of an array's elements in all dimensions."""
    if of.kind.name == "POINTER":
        of = of.get_pointee().get_canonical()
    while of.kind.name in {"CONSTANTARRAY", "INCOMPLETEARRAY"}:
        of = of.element_type.get_canonical()
    return of
