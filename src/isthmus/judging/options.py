"""What a user says beside the texts, and where the texts say something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.judging import links
from isthmus.judging.judgement import Contradiction, Judgement
from isthmus.models.pcie import Link
from isthmus.references import Reference, engine
from isthmus.references import link as parsed_link


@dataclass(frozen=True)
class Given:
    """What the user says."""

    board: Reference | None = None
    board_option: str = ""
    link: Link | None = None
    port_gigabits: float = 0.0

    @property
    def link_option(self) -> str:
        """The value of ``--link``."""
        return self.link.name.replace(" ", "") if self.link else f"{self.port_gigabits:g}Gb"


def contradictions(
    given: Given, named: Sequence[Reference], judgements: Sequence[Judgement]
) -> list[Contradiction]:
    """Options that say something else than the texts, each once.

    ``named``: boards that the texts name. ``judgements``: their limits have what the texts say of
    links.
    """
    found = [*_of_board(given, named), *_of_link(given, named, judgements)]
    return list(dict.fromkeys(found))


def _of_board(given: Given, named: Sequence[Reference]) -> Iterator[Contradiction]:
    others = [one for one in named if given.board and one.name != given.board.name]
    if others:
        said = " and ".join(one.title for one in others)
        yield Contradiction("--board", given.board_option, said, "its names")


def _of_link(
    given: Given, named: Sequence[Reference], judgements: Sequence[Judgement]
) -> Iterator[Contradiction]:
    if given.link is None:
        return
    facts = [one.limit.fact for one in judgements if one.limit and one.limit.fact]
    for fact in facts:
        link = links.under_load(fact)
        if link and link.name != given.link.name:
            by = f"{fact.said_by}, {fact.place}"
            yield Contradiction("--link", given.link_option, link.name, by)
    for one in judgements:
        if one.verdict == "impossible" and one.board and one.board.link.pcie and not facts:
            usual = parsed_link(one.board.link.pcie)
            if one.limit and one.limit.by == "link option" and usual.raw >= one.fastest:
                by = f"{one.board.title}: {one.board.link.source}"
                yield Contradiction("--link", given.link_option, usual.name, by, "usual")
    boards = [given.board] if given.board else named
    for board in boards if not facts else ():
        possible = [parsed_link(one) for one in (board.link.pcie, *board.link.others) if one]
        most = max(possible, key=lambda one: one.raw, default=None)
        if most and given.link.raw > most.raw:
            by = f"{board.title}: {board.link.source}"
            yield Contradiction("--link", given.link_option, most.name, by, "at most")


def without_effect(
    given: Given, judgements: Sequence[Judgement], unlike: Sequence[Contradiction]
) -> list[str]:
    """Options that no limit, no known run and no contradiction comes from: ``--link gen3x16``."""
    found = []
    by = {one.limit.by for one in judgements if one.limit}
    if (given.link or given.port_gigabits) and "link option" not in by:
        found.append(f"--link {given.link_option}")
    says_links = any(one.kind in {"usual", "at most"} for one in unlike)
    used = says_links or any(_by_board(one, given.board) for one in judgements)
    if given.board and not used:
        found.append(f"--board {given.board_option}")
    return found


def _by_board(judgement: Judgement, board: Reference | None) -> bool:
    """Whether a limit or a known run is that of the board, or of the engine that it has."""
    if board is None:
        return False
    its_engine = engine(board.engine)
    titles = {board.title} | ({its_engine.title} if its_engine else set())
    limited = judgement.limit is not None and judgement.limit.by == "board"
    return limited or (judgement.known is not None and judgement.known.of in titles)
