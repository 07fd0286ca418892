"""The options that a user gives for judging, and their contradictions to the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.judging import links
from isthmus.judging.judgement import Contradiction, Judgement
from isthmus.models.pcie import Link
from isthmus.references import Reference, engine
from isthmus.references import link as parsed_link


@dataclass(frozen=True)
class Options:
    """Board, link and port rate that the user gives beside the texts."""

    board: Reference | None = None
    board_option: str = ""
    link: Link | None = None
    port_gigabits: float = 0.0

    @property
    def link_option(self) -> str:
        """The link as option ``--link`` takes it: ``gen3x16``."""
        return self.link.name.replace(" ", "") if self.link else f"{self.port_gigabits:g}Gb"


def contradictions(
    options: Options, named: Sequence[Reference], judgements: Sequence[Judgement]
) -> list[Contradiction]:
    """Options that contradict the texts, each option once.

    ``named``: boards that the texts name. ``judgements``: their limits contain the links that the
    texts describe.
    """
    results = [*_of_board(options, named), *_of_link(options, named, judgements)]
    return list(dict.fromkeys(results))


def _of_board(options: Options, named: Sequence[Reference]) -> Iterator[Contradiction]:
    others = [board for board in named if options.board and board.name != options.board.name]
    if others:
        named_boards = " and ".join(board.title for board in others)
        yield Contradiction("--board", options.board_option, named_boards, "its names")


def _of_link(
    options: Options, named: Sequence[Reference], judgements: Sequence[Judgement]
) -> Iterator[Contradiction]:
    if options.link is None:
        return
    facts = [case.limit.fact for case in judgements if case.limit and case.limit.fact]
    for fact in facts:
        link = links.under_load(fact)
        if link and link.name != options.link.name:
            by = f"{fact.said_by}, {fact.place}"
            yield Contradiction("--link", options.link_option, link.name, by)
    for judgement in judgements:
        limit, own = judgement.limit, judgement.board
        if judgement.verdict == "impossible" and own and own.link.pcie and not facts:
            usual = parsed_link(own.link.pcie)
            if limit and limit.by == "link option" and usual.raw >= judgement.fastest:
                by = f"{own.title}: {own.link.source}"
                yield Contradiction("--link", options.link_option, usual.name, by, "usual")
    boards = [options.board] if options.board else named
    for board in boards if not facts else ():
        possible = [parsed_link(name) for name in (board.link.pcie, *board.link.others) if name]
        most = max(possible, key=lambda link: link.raw, default=None)
        if most and options.link.raw > most.raw:
            by = f"{board.title}: {board.link.source}"
            yield Contradiction("--link", options.link_option, most.name, by, "at most")


def without_effect(
    options: Options, judgements: Sequence[Judgement], unlike: Sequence[Contradiction]
) -> list[str]:
    """Options that change no limit, known run or contradiction: ``--link gen3x16``."""
    unused = []
    by = {judgement.limit.by for judgement in judgements if judgement.limit}
    if (options.link or options.port_gigabits) and "link option" not in by:
        unused.append(f"--link {options.link_option}")
    says_links = any(each.kind in {"usual", "at most"} for each in unlike)
    used = says_links or any(_by_board(judgement, options.board) for judgement in judgements)
    if options.board and not used:
        unused.append(f"--board {options.board_option}")
    return unused


def _by_board(judgement: Judgement, board: Reference | None) -> bool:
    """Whether a judgement's limit or known runs come from the board or the board's engine."""
    if board is None:
        return False
    its_engine = engine(board.engine)
    titles = {board.title} | ({its_engine.title} if its_engine else set())
    limited = judgement.limit is not None and judgement.limit.by == "board"
    return limited or (judgement.known is not None and judgement.known.of in titles)
