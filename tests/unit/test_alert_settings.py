"""What an operator may set about alerts."""

import pytest

from tickyard.config.reading import read_settings
from tickyard.config.settings import SettingsError
from tickyard.kernel.clock import WallClock
from tickyard.wiring.alerts import open_desk


@pytest.fixture
def environ(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(f"1 {'5a' * 32}\n")
    nowhere = ("RPC_URLS", "RPC_URLS_8453", "FACILITATOR_4663", "FACILITATOR_8453")
    given = {"SECRET_KEY_FILE": str(keys), "PAY_TO": "0x" + "7a" * 20, "FILINGS_CONTACT": "nobody@example.com"}
    return {f"TICKYARD_{name}": value for name, value in (given | dict.fromkeys(nowhere, "http://127.0.0.1:1")).items()}


def test_the_cap_on_all_alerts_is_a_setting(environ):
    assert open_desk(read_settings(environ), WallClock()).caps.total == 100_000
    assert open_desk(read_settings(environ | {"TICKYARD_ALERTS_MAX": "7"}), WallClock()).caps.total == 7


def test_a_cap_of_nothing_is_refused(environ):
    with pytest.raises(SettingsError):
        read_settings(environ | {"TICKYARD_ALERTS_MAX": "0"})


def test_a_worker_shows_its_metrics_beside_those_of_the_service(environ):
    settings = read_settings(environ | {"TICKYARD_PORT": "8500"})
    assert (settings.metrics_port, settings.worker_metrics_port) == (9500, 9501)
