"""The newest samples in memory: which of them still say something about today."""

from datetime import UTC, datetime, timedelta

from tickyard.kernel.ids import Address
from tickyard.market.sampling.rounds import slot_number
from tickyard.market.sampling.samples import DayChange, LatestSamples

TOKEN = Address("0x" + "a" * 40)
NOW = datetime(2026, 10, 3, 14, 9, 59, tzinfo=UTC)


def change_at(now, newest):
    samples = LatestSamples()
    samples.replace({TOKEN: newest})
    return samples.change_24h(TOKEN, now)


def test_the_newest_sample_counts_for_a_quarter_of_an_hour():
    newest = DayChange(slot_number(NOW), 12, 8)
    assert change_at(NOW, newest) == (4, 8)
    assert change_at(NOW + timedelta(minutes=15), newest) == (4, 8)
    assert change_at(NOW + timedelta(minutes=15, seconds=1), newest) is None


def test_without_a_price_of_a_day_ago_there_is_no_change():
    assert change_at(NOW, DayChange(slot_number(NOW), 12, None)) is None


def test_a_token_never_sampled_has_no_change():
    assert LatestSamples().change_24h(TOKEN, NOW) is None


def test_a_round_replaces_all_that_was_known():
    samples = LatestSamples()
    samples.replace({TOKEN: DayChange(slot_number(NOW), 12, 8)})
    samples.replace({})
    assert samples.change_24h(TOKEN, NOW) is None
