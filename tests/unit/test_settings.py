"""Settings that are wrong are refused in words that an operator understands, never a library's."""

import msgspec
import pytest
from msgspec import inspect

from tickyard.config.reading import read_settings
from tickyard.config.settings import Settings, SettingsError
from tickyard.config.wallet import PUBLIC_KEYS
from tickyard.kernel.ids import EXAMPLE_WALLET
from tickyard.sandbox.world.wallets import wallets

GOOD = {
    "TICKYARD_RPC_URLS": "https://node.test",
    "TICKYARD_RPC_URLS_8453": "https://node.test",
    "TICKYARD_PAY_TO": "0x52908400098527886E0F7030069857D2E4169EE7",
    "TICKYARD_FACILITATOR_4663": "https://facilitator.test",
    "TICKYARD_FACILITATOR_8453": "https://facilitator.test/",
    "TICKYARD_SECRET_KEY_FILE": "/keys",
    "TICKYARD_FILINGS_CONTACT": "me@node.test",
}


def refusal(**wrong):
    with pytest.raises(SettingsError) as caught:
        read_settings(GOOD | {f"TICKYARD_{name}": value for name, value in wrong.items()})
    return str(caught.value)


def test_good_settings_are_taken():
    settings = read_settings(GOOD | {"TICKYARD_EARN": "off", "TICKYARD_FEE_TIERS": "100, 500", "TICKYARD_SEED": "5"})
    assert (settings.earn, settings.fee_tiers) == (False, (100, 500))
    assert settings.facilitator_8453 == ("https://facilitator.test",)


def test_a_host_of_ipv6_stands_in_brackets_in_the_address_that_follows_from_it():
    settings = read_settings(GOOD | {"TICKYARD_HOST": "::1", "TICKYARD_PORT": "8402"})
    assert settings.base_url == "http://[::1]:8402"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("RATE_LIMIT", "-5", "TICKYARD_RATE_LIMIT must be 0 or more"),
        # Bytes that are not UTF-8, as Python hands them over.
        ("RATE_LIMIT", "\udcff", "TICKYARD_RATE_LIMIT must be plain text in UTF-8"),
        ("FEE_TIERS", "100,\udcff", "TICKYARD_FEE_TIERS must be plain text in UTF-8"),
        ("DATA_DIR", "/srv/\udcff", "TICKYARD_DATA_DIR must be plain text in UTF-8"),
        ("RATE_LIMIT", "many", "TICKYARD_RATE_LIMIT must be a whole number, 0 or more"),
        ("PORT", "0", "TICKYARD_PORT must be from 1 to 65535"),
        ("PORT", "80.5", "TICKYARD_PORT must be a whole number, from 1 to 65535"),
        ("REPLICAS", "99999", "TICKYARD_REPLICAS must be from 1 to 10000"),
        ("ACCESS_LOG", "perhaps", "TICKYARD_ACCESS_LOG must be on or off"),
        ("PROFILE", "testnet", "TICKYARD_PROFILE must be mainnet or sandbox"),
        ("FEE_TIERS", "100,x", "TICKYARD_FEE_TIERS must be a list of which each part is"),
        ("FEE_TIERS", "100,500,100", "TICKYARD_FEE_TIERS must name each one once"),
        ("NETWORKS", "4663,4663", "TICKYARD_NETWORKS must name each one once"),
        ("RPC_URLS", "https://a.test,https://b.test,https://a.test", "TICKYARD_RPC_URLS must name each one once"),
        ("FACILITATOR_8453", "https://a.test,https://a.test", "TICKYARD_FACILITATOR_8453 must name each one once"),
        ("SPENDER", "0x000000000022D473030F116dDEE9F6B43aC78BA3", "TICKYARD_SPENDER is another contract"),
        ("NETWORKS", "4663,1", "TICKYARD_NETWORKS must be a list of which each part is 4663 or 8453"),
        ("TRUSTED_PROXIES", "0.0.0.0/0", "the whole internet"),
        ("TRUSTED_PROXIES", "10.0.0.0/8,::/0", "the whole internet"),
        ("TRUSTED_PROXIES", "proxy.local", "is not a network such as 10.0.0.0/8"),
        ("RPC_URLS", "https://a,node", "must be http or https addresses"),
        ("RPC_WS_URLS", "wss://a,https://node", "must be ws or wss addresses"),
        ("ISSUER_URL", "http://[::1", "must be an http or https address"),
        ("FINALITY", "soon", "the word finalized or a number of blocks"),
        ("FILINGS_CONTACT", "me", "an e-mail address"),
        ("DATABASE_URL", "mysql://x", "a postgresql:// address"),
        ("HISTORY_START", "yesterday", "an ISO 8601 time"),
        ("PAY_TO", "0x0000000000000000000000000000000000000000", "TICKYARD_PAY_TO is a placeholder"),
        ("PAY_TO", "0x000000000000000000000000000000000000dEaD", "is a placeholder"),
        ("PAY_TO", "0x" + "1" * 40, "is a placeholder"),
        ("PAY_TO", "0x0000000000000000000000000000000000000001", "is a placeholder"),
        ("PAY_TO", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "key is public"),
        ("SERVICE_TOKEN", GOOD["TICKYARD_PAY_TO"], "TICKYARD_PAY_TO is a contract of the reward program"),
        ("FINALITY", "0", "a number of blocks from 1 to 999999"),
        ("FINALITY", "1000000000", "a number of blocks from 1 to 999999"),
        ("SECURITY_CONTACT", "bob", "must begin with mailto:, https:// or tel:"),
        ("PAY_TO", EXAMPLE_WALLET, "put your own wallet here"),
        ("PAY_TO", "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD", "key is public"),
        ("PAY_TO", "0x5fc5360d0400a0fd4f2af552add042d716f1d168", "is a contract"),
        ("PAY_TO", "0x52908400098527886E0F7030069857D2E4169Ee7", "wrong checksum"),
        ("PAY_TO", "somebody", "0x followed by 40 hex digits"),
        ("ALERTS_MAX", "1000000000000000000000000000000", "TICKYARD_ALERTS_MAX must be from 1 to 1000000000"),
        ("TRUSTED_PROXIES", "0.0.0.0/1,128.0.0.0/1", "most of the internet"),
        ("TRUSTED_PROXIES", "::ffff:0:0/96", "most of the internet"),
        ("TRUSTED_PROXIES", "2000::/3", "most of the internet"),
        ("DATABASE_URL", ":memory:", "a postgresql:// address"),
        ("DATABASE_URL", "sqlite:x.db", "a postgresql:// address"),
        ("DATABASE_URL", "sqlite:///:memory:", "a postgresql:// address"),
        ("DATABASE_URL", "postgresql://u:p@h:x/d", "a postgresql:// address"),
        ("DATABASE_URL", "postgresql://u:p@[::1/d", "a postgresql:// address"),
        ("DATABASE_URL", "postgresql://u:p@h:99999/d", "a postgresql:// address"),
        ("BASE_URL", "https://a.test/?x=1", "the address alone"),
        ("BASE_URL", "https://a.test/#x", "the address alone"),
        ("BASE_URL", "https://a.test/x y", "an http or https address"),
        ("HISTORY_START", "0001-01-01T00:00:00+23:59", "an ISO 8601 time"),
        ("HISTORY_START", "9999-12-31T23:59:59-23:59", "an ISO 8601 time"),
        ("FILINGS_CONTACT", "me@node.test\nX: y", "TICKYARD_FILINGS_CONTACT must not hold control characters"),
        ("HOST", "local host", "an address of this machine"),
        ("METRICS_PORT", "8402", "TICKYARD_METRICS_PORT must be another port than TICKYARD_PORT"),
        ("LAME_DUCK_S", "-1", "TICKYARD_LAME_DUCK_S must be from 0 to 600"),
    ],
)
def test_a_wrong_value_is_refused_in_plain_words(name, value, says):
    said = refusal(**{name: value})
    assert says in said
    for foreign in ("Expected", "`", "validation", "msgspec", "$"):
        assert foreign not in said


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("RATELIMIT", "RATE_LIMIT"), ("PAYTO", "PAY_TO"), ("RPC_URL", "RPC_URLS"), ("TRUSTED_PROXY", "TRUSTED_PROXIES")],
)
def test_a_mistyped_name_is_refused_with_the_nearest_right_one(typed, meant):
    assert refusal(**{typed: "1"}) == f"TICKYARD_{typed} is no setting: did you mean TICKYARD_{meant}?"


def test_a_name_in_the_wrong_case_is_refused_with_the_right_one():
    assert refusal(port="9000") == "TICKYARD_port is no setting: did you mean TICKYARD_PORT?"
    with pytest.raises(SettingsError, match="did you mean TICKYARD_RATE_LIMIT"):
        read_settings(GOOD | {"Tickyard_Rate_Limit": "5"})


def test_every_number_has_two_ends():
    """Whatever a database, a timer or a sum cannot hold is refused at the start."""
    kinds = [inspect.type_info(field.type) for field in msgspec.structs.fields(Settings)]
    numbers = [kind for kind in kinds if isinstance(kind, inspect.IntType)]
    assert len(numbers) > 15
    assert all(kind.ge is not None and kind.le is not None and kind.le < 2**31 for kind in numbers)


def test_private_networks_may_all_be_trusted_together():
    read_settings(
        GOOD
        | {
            "TICKYARD_TRUSTED_PROXIES": "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,127.0.0.0/8,100.64.0.0/10,fc00::/7,::1/128"
        }
    )


def test_a_name_near_nothing_is_refused_too():
    assert refusal(QQQ="1") == "TICKYARD_QQQ is no setting"


def test_a_file_is_held_to_the_same_words(tmp_path):
    file = tmp_path / "settings.toml"
    for line, says in (
        ("rate_limit = -1", "rate_limit must be 0 or more"),
        ("host = 5", "host must be a text in quotes"),
        ("replica = 2", "replica is no setting: did you mean replicas?"),
        ("rpc_urls = 5", "rpc_urls must be a list"),
        ("= 5", "is not TOML"),
        ('data_dir = "a\\u0000b"', "TICKYARD_DATA_DIR must not hold control characters"),
        ('mcp_hosts = ["a\\u0000b"]', "TICKYARD_MCP_HOSTS must not hold control characters"),
        ('host = ""', "TICKYARD_HOST must be an address of this machine"),
        ("fee_tiers = []", "TICKYARD_FEE_TIERS must name one tier or more"),
    ):
        file.write_text(line)
        with pytest.raises(SettingsError) as caught:
            read_settings(GOOD | {"TICKYARD_SETTINGS": str(file)})
        assert says in str(caught.value)
    file.write_text("rpc_urls = 'https://a'\nfacilitator_4663 = ['https://b/', 'https://c']\nnetworks = [4663]")
    settings = read_settings(
        {key: text for key, text in GOOD.items() if "4663" not in key and "RPC_URLS" not in key}
        | {"TICKYARD_SETTINGS": str(file), "TICKYARD_RPC_URLS_8453": "https://d"}
    )
    assert (settings.rpc_urls, settings.facilitator_4663) == (("https://a",), ("https://b", "https://c"))
    assert settings.networks == ("4663",)
    with pytest.raises(SettingsError, match=r"nowhere\.toml.*cannot be read"):
        read_settings(GOOD | {"TICKYARD_SETTINGS": str(tmp_path / "nowhere.toml")})


def test_all_that_is_wrong_is_said_at_once():
    said = refusal(PORT="x", RATELIMIT="1")
    assert "TICKYARD_PORT" in said
    assert "TICKYARD_RATELIMIT" in said


def test_every_setting_can_be_refused_in_words():
    """No kind of setting falls through to a library's sentence."""
    said = []
    for name in Settings.__struct_fields__:
        for value in ("\x00", "-7", "x y"):
            try:
                read_settings(GOOD | {f"TICKYARD_{name.upper()}": value})
            except SettingsError as error:
                said.append(str(error))
    assert len(said) > 50
    assert [each for each in said if "Expected" in each or "$" in each] == []


def test_wallets_with_public_keys_never_receive_payments():
    assert {wallet.address for wallet in wallets()} <= PUBLIC_KEYS
