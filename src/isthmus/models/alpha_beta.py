"""Models a transfer by a start-up time and a rate: ``seconds = alpha + bytes / beta``.

The user gives alpha and beta. Otherwise ``isthmus.statistics.fits`` fits both to the times that
``isthmus.models.dma`` predicts for the board. A transfer of n1/2 = alpha x beta bytes has half of
the rate beta. Units: seconds, bytes, bytes per second. Source: R. W. Hockney, Parallel Computing
20(3), 1994.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models import dma
from isthmus.models.base import Figure, Model, Option

_SIZES = tuple(1 << i for i in range(31))


def transfer_s(alpha: float, beta: float, size: float) -> float:
    """Seconds of a transfer of ``size`` bytes."""
    return alpha + size / beta


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts alpha, beta, n1/2 and a transfer's time, for each direction or from the inputs."""
    laws: dict[str, tuple[float, float]] = {}
    if "alpha-us" in inputs and "beta-gbps" in inputs:
        laws["given"] = (inputs["alpha-us"] * 1e-6, inputs["beta-gbps"] * 1e9)
    else:
        from isthmus.statistics import fits  # noqa: PLC0415 - slow to load

        for direction in dma.DIRECTIONS:
            times = [dma.transfer_s(board, direction, size) for size in _SIZES]
            law = fits.alpha_beta(_SIZES, times)
            if law is not None:
                laws[direction] = (law.alpha.value, law.beta.value)
    figures = []
    for name, (alpha, beta) in laws.items():
        figures += [
            Figure(f"{name} alpha", alpha, "s"),
            Figure(f"{name} beta", beta, "B/s"),
            Figure(f"{name} n1/2", alpha * beta, "B"),
        ]
        if "bytes" in inputs:
            seconds = transfer_s(alpha, beta, inputs["bytes"])
            figures.append(Figure(f"{name} time", seconds, "s", inputs["bytes"]))
    return figures


MODEL = Model(
    "alpha_beta",
    "a transfer as start-up time and rate",
    predict,
    default_board="u250",
    options=(
        Option("bytes", "B", "size of a transfer"),
        Option("alpha-us", "us", "start-up time, instead of the board's"),
        Option("beta-gbps", "GB/s", "rate, instead of the board's"),
    ),
)
