"""How the reward program is run for real: who gets which account, who gets the key, and what keeps the agent down."""

import asyncio
import json
import re
from pathlib import Path

import pytest
import yaml

from tickyard.config.reading import read_settings
from tickyard.config.settings import Settings, SettingsError
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payout.deploy import compiled, deployment
from tickyard.processes.payout import deploy, pay_out
from tickyard.sandbox.contracts.build import DESK_SOURCE, compiled_desk
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
    optional = re.findall(r"^# (service_token\w*|payout_\w+) = (\S+)$", text, re.MULTILINE)
    assert len(optional) == 7
    for name, value in optional:
        read_settings({**environ, f"TICKYARD_{name.upper()}": value.strip('"')})


def test_without_a_desk_there_is_no_program_and_no_agent(tmp_path):
    settings = Settings(rpc_urls=("http://127.0.0.1:1",), service_token="0x" + "7e" * 20, data_dir=str(tmp_path))
    assert settings.has_earn is False
    with pytest.raises(SettingsError, match="TICKYARD_PAYOUT_DESK"):
        asyncio.run(pay_out(settings))


def test_the_index_of_holders_and_the_desk_begin_where_the_settings_say():
    settings = Settings(service_token="0x" + "7e" * 20, service_token_first_block=1234, payout_desk_first_block=5678)
    room = open_earn(settings, WallClock())
    assert (room.first_block, room.desk_first_block) == (1234, 5678)


@pytest.mark.slow
def test_the_shipped_bytecode_is_what_the_source_compiles_to():
    assert json.loads(DESK_SOURCE.with_suffix(".json").read_text()) == compiled_desk(), (
        "run: python -m tickyard.sandbox.contracts.build"
    )
    assert len(DESK_SOURCE.read_text().splitlines()) < 150


def test_a_deployment_is_the_creation_code_and_three_addresses():
    usdg, owner, payer = (Address("0x" + digit * 40) for digit in "123")
    made = deployment(usdg, owner, payer, 4663)
    assert made["chainId"] == 4663
    assert made["data"] == compiled().creation + "".join(each[2:].rjust(64, "0") for each in (usdg, owner, payer))
    assert "to" not in made


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        ("0x5fbDB2315678afecb367f032d93F642f64180aa3", "has a wrong checksum"),
        ("0x" + "0" * 40, "is a placeholder"),
        ("0x5fbd", "must be 0x followed by 40 hex digits"),
        ("", "must be 0x followed by 40 hex digits"),
    ],
)
def test_no_desk_is_made_for_an_owner_or_payer_that_was_mistyped(owner, why):
    good = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
    with pytest.raises(SettingsError, match=f"--owner {why}"):
        asyncio.run(deploy(Settings(), owner, good))
    with pytest.raises(SettingsError, match=f"--payer {why}"):
        asyncio.run(deploy(Settings(), good, owner))


def test_a_deployment_is_printed_for_good_addresses(capsys):
    good = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
    assert asyncio.run(deploy(Settings(), good, good.lower())) == 0
    assert json.loads(capsys.readouterr().out)["data"].endswith(2 * good[2:].lower().rjust(64, "0"))
