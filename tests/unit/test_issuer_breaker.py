"""When a failing source is left alone."""

from tickyard.sources.breaker import Breaker


def broken(breaker, *, at):
    for _ in range(3):
        breaker.failed(at)
    return breaker


def test_a_few_failures_do_not_open_it():
    breaker = Breaker(failures=3, pause_s=2)
    breaker.failed(1)
    breaker.failed(1)
    assert breaker.allows(1)


def test_failures_in_a_row_open_it_for_the_pause():
    breaker = broken(Breaker(failures=3, pause_s=2), at=10)
    assert not breaker.allows(10)
    assert not breaker.allows(11.9)
    assert breaker.wait_s(11) == 1


def test_a_success_between_failures_starts_the_count_again():
    breaker = Breaker(failures=3, pause_s=2)
    breaker.failed(1)
    breaker.failed(1)
    breaker.succeeded()
    breaker.failed(1)
    assert breaker.allows(1)


def test_after_the_pause_one_probe_passes_and_only_one():
    breaker = broken(Breaker(failures=3, pause_s=2), at=10)
    assert breaker.allows(12)
    assert not breaker.allows(12)
    assert not breaker.allows(13.9)


def test_a_probe_that_succeeds_closes_it():
    breaker = broken(Breaker(failures=3, pause_s=2), at=10)
    assert breaker.allows(12)
    breaker.succeeded()
    assert breaker.allows(12)
    assert breaker.wait_s(12) == 0


def test_a_probe_that_fails_starts_another_pause():
    breaker = broken(Breaker(failures=3, pause_s=2), at=10)
    assert breaker.allows(12)
    breaker.failed(15)
    assert not breaker.allows(16.9)
    assert breaker.allows(17)


def test_a_probe_that_never_reports_does_not_lock_it_for_ever():
    breaker = broken(Breaker(failures=3, pause_s=2), at=10)
    assert breaker.allows(12)
    assert breaker.allows(14)
