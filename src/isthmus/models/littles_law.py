"""Predicts by Little's law how many bytes must be in flight to fill a link.

    in flight = rate x latency;  requests = in flight / size;  rate = requests x size / latency

Bytes, seconds, bytes a second. Source: J. D. C. Little, Operations Research 9(3), 1961.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models import dma
from isthmus.models.base import Figure, Model, Option
from isthmus.models.pcie import path_of

_LINE = 64


def in_flight(rate: float, latency: float) -> float:
    """Bytes that must be in flight for ``rate`` bytes per second at a latency in seconds."""
    return rate * latency


def rate(requests: float, size: float, latency: float) -> float:
    """Bytes per second if ``requests`` requests of ``size`` bytes are always in flight."""
    return requests * size / latency


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts the number of requests that fill the link, and the rate of a given number."""
    path = path_of(board)
    latency = inputs["latency-ns"] * 1e-9 if "latency-ns" in inputs else dma.round_trip_s(board)
    size = inputs.get("request-bytes", path.max_read_request)
    link_rate = min(path.reads(), path.bus_rate())
    needed = in_flight(link_rate, latency)
    figures = [
        Figure("latency", latency, "s", note="of one request"),
        Figure("link", link_rate, "B/s"),
        Figure("in flight", needed, "B", note="to fill the link"),
        Figure("requests", needed / size, "", size, "to fill the link"),
    ]
    if "requests" in inputs:
        reached = min(link_rate, rate(inputs["requests"], size, latency))
        figures.append(Figure("reached", reached, "B/s", size))
    return figures


MODEL = Model(
    "littles_law",
    "requests in flight that fill the link",
    predict,
    default_board="u250",
    options=(
        Option("requests", "", "requests in flight"),
        Option("request-bytes", "B", "size of a request; without it the board's MRRS"),
        Option("latency-ns", "ns", "latency of a request; without it of the DMA engine's reads"),
    ),
    closed_forms={"lines in flight": lambda _, rate, latency: in_flight(rate, latency) / _LINE},
)
