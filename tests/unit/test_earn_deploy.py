"""How the reward program is run for real: who gets which account, who gets the key, and what keeps the agent down."""

import asyncio
import re
from pathlib import Path

import pytest
import yaml

from tickyard.config.settings import Settings, SettingsError, read_settings
from tickyard.processes.payout import pay_out
from tickyard.wiring.earn import open_earn

DEPLOY = Path(__file__).parents[2] / "deploy"
KEY = {"payout_keystore", "payout_password"}


@pytest.fixture
def services():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def test_the_payout_key_is_mounted_in_the_agent_alone(services):
    holding = {name for name, service in services.items() if KEY & set(service.get("secrets", ()))}
    assert holding == {"payout"}
    named = {name for name, service in services.items() if any("KEYSTORE" in key for key in service["environment"])}
    assert named == {"payout"}
    assert services["payout"]["command"] == ["payout"]
    assert "alert_key" not in services["payout"]["secrets"]


def test_each_process_connects_with_an_account_of_its_own_in_its_own_role(services):
    accounts = (DEPLOY / "accounts.sh").read_text()
    made = dict(re.findall(r'^account (\w+) "\$(\w+)"$', accounts, re.MULTILINE))
    assert set(made) == {"api", "worker", "payout"}
    assert "IN ROLE tickyard_$1" in accounts
    for name, password in made.items():
        assert services[name]["environment"]["TICKYARD_DATABASE_URL"].startswith(
            f"postgresql://{name}:${{{password}:?}}@"
        )
        assert password in services["database"]["environment"]
        assert f"{password}=" in (DEPLOY / "passwords.example.env").read_text()
    # Tables are made by their owner, and by nobody who serves.
    owners = {name for name, service in services.items() if "tickyard:" in str(service["environment"])}
    assert owners == {"migrate"}


def test_the_example_settings_are_settings():
    environ = {"TICKYARD_SETTINGS": str(DEPLOY / "settings.example.toml")}
    with pytest.raises(SettingsError, match=r"^TICKYARD_PAY_TO is a placeholder"):
        read_settings(environ)
    environ["TICKYARD_PAY_TO"] = "0x" + "7a" * 20
    assert read_settings(environ).database_url.startswith("postgresql://")
    text = (DEPLOY / "settings.example.toml").read_text()
    optional = re.findall(r"^# (service_token\w*|payout_max\w+) = (\S+)$", text, re.MULTILINE)
    assert len(optional) == 5
    for name, value in optional:
        read_settings({**environ, f"TICKYARD_{name.upper()}": value.strip('"')})


def test_an_agent_that_stopped_itself_does_not_start_again_by_itself(tmp_path):
    (tmp_path / "payout.halted").write_text("nonce 7 was used by a transaction that is not in the books\n")
    settings = Settings(rpc_urls=("http://127.0.0.1:1",), service_token="0x" + "7e" * 20, data_dir=str(tmp_path))
    with pytest.raises(SettingsError, match=r"payout\.halted"):
        asyncio.run(pay_out(settings))


def test_the_index_of_holders_begins_where_the_settings_say():
    settings = Settings(service_token="0x" + "7e" * 20, service_token_first_block=1234)
    assert open_earn(settings).first_block == 1234
