"""Threads that wait beside calls into an emulated card: no wait lasts for ever or shows a wrong
time. A program that hangs is ended after a minute."""

from __future__ import annotations

import pytest
from on_cards import Made, Run, card_exec, emulated, preloading, programs

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")


@pytest.fixture
def figure(card_exec: Run, programs: Made) -> Run:
    def run(what: str, *options: str, preloaded: str = "") -> float:
        program: tuple[object, ...] = (programs("waits"), what, programs("hw_emu.xclbin"))
        if preloaded:
            program = preloading(programs(preloaded), *program)
        ran = card_exec(*options, "--", "timeout", "--signal=KILL", 60, *program)
        assert ran.code == 0, ran.errors
        (value,) = ran.figures.values()
        return value

    return run


def test_a_call_under_a_mutex_that_a_timed_wait_needs_ends(figure: Run) -> None:
    assert figure("lock_held") == 5


@pytest.mark.slow
def test_a_signal_handler_reads_a_clock(figure: Run) -> None:
    assert figure("signals") == 1


def test_children_end_that_are_made_while_kernels_run(figure: Run) -> None:
    assert figure("forks") == 30


@pytest.mark.parametrize("what", ["semaphore", "timed_mutex"])
def test_a_timed_wait_goes_on_at_the_time_of_the_other_thread(figure: Run, what: str) -> None:
    assert figure(what) >= 0.3


def test_a_deadline_days_away_is_not_over_early(figure: Run) -> None:
    assert figure("far_deadlines") == 0


@pytest.mark.slow
def test_a_wait_goes_on_where_others_act_between_looks_at_them(figure: Run) -> None:
    assert figure("far_deadlines", preloaded="late_looks.so") == 0


def test_select_leaves_the_rest_before_a_card_is_open(figure: Run) -> None:
    assert 0 < figure("select_before") <= 4.75


def test_two_cards_of_two_threads_are_closed_one_after_the_other(figure: Run) -> None:
    assert figure("two_cards", "--board", "u250", "--board", "u250") == 3


def test_a_task_of_a_queue_of_xrt_is_the_programs(figure: Run) -> None:
    assert 0.2 <= figure("queue_of_tasks") < 1


def test_computing_counts_after_xrt_refused_to_start_a_kernel(figure: Run) -> None:
    assert 0.2 <= figure("refused_start") < 1


def test_a_kernel_is_opened_while_another_is_started(figure: Run) -> None:
    assert figure("opened_meanwhile") == 20


def test_who_waits_for_the_end_of_mains_thread_goes_on_after_it(figure: Run) -> None:
    assert figure("end_of_main") >= 0.3
