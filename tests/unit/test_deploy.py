"""What is deployed: only what serves, told apart from what develops, and figures in several files that must agree."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
import yaml

from tickyard.config.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DEFAULTS = Settings()
STOPS_IN_S = DEFAULTS.lame_duck_s + DEFAULTS.drain_s


def locked(name):
    text = (ROOT / f"requirements.{name}lock").read_text()
    assert "://" not in text
    pins = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))
    assert text.count("--hash=sha256:") > len(pins)
    return pins


@pytest.mark.parametrize("name", ["serve.", "tracing.", "payout.", "build."])
def test_what_serves_is_locked_apart_at_the_same_versions(name):
    everything = locked("")
    # Packages that one system needs and another does not may come in two versions.
    assert {package: pin for package, pin in locked(name).items() if everything.get(package) != pin} == {}


def test_what_serves_holds_nothing_that_develops_or_signs():
    held = set(locked("serve."))
    assert not held & {"pytest", "mypy", "vyper", "web3", "hypothesis", "ruff", "eth-account", "eth-keys", "setuptools"}
    assert "eth-account" in locked("payout.")
    assert "opentelemetry-sdk" in locked("tracing.")
    assert "opentelemetry-sdk" not in held


@pytest.mark.slow
def test_everything_that_serves_can_import_what_it_needs_from_its_lock():
    """Only what is imported at once: the sandbox and the agent ask for theirs when they are used."""
    names = {"sha3": "safe-pysha3", "prometheus_client": "prometheus-client", "publicsuffixlist": "publicsuffixlist"}
    held = set(locked("serve."))
    missing = {}
    for path in (ROOT / "src/tickyard").rglob("*.py"):
        if {"sandbox", "payout"} & set(path.parts) or path.name == "traces.py":
            continue
        for node in ast.parse(path.read_text()).body:
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module]
            for module in modules:
                top = module.partition(".")[0]
                if (
                    top != "tickyard"
                    and top not in sys.stdlib_module_names
                    and names.get(top, top).replace("_", "-") not in held
                ):
                    missing[str(path)] = top
    assert missing == {}


def test_the_image_is_made_of_the_serving_lock_and_of_nothing_else():
    text = (DEPLOY / "Dockerfile").read_text()
    assert "ARG LOCK=requirements.serve.lock" in text
    assert "requirements.lock" not in text
    assert "--require-hashes -r ${LOCK}" in text
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    copied = {
        word
        for line in text.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    assert {word for word in copied if word != "${LOCK}"} <= allowed
    assert {"requirements.serve.lock", "requirements.payout.lock", "requirements.tracing.lock"} <= allowed
    assert not [line for line in allowed if "toml" in line and line != "pyproject.toml"]


def test_compose_stops_in_time_listens_on_loopback_and_knows_its_proxy():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    api = compose["services"]["api"]
    assert int(api["stop_grace_period"].removesuffix("s")) > STOPS_IN_S
    for name, service in compose["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        if name != "migrate":
            assert "healthcheck" in service, name
            assert "stop_grace_period" in service, name
    assert api["environment"]["TICKYARD_REPLICAS"] == api["deploy"]["replicas"] == "${REPLICAS:-1}"
    subnet = compose["networks"]["front"]["ipam"]["config"][0]["subnet"]
    assert api["environment"]["TICKYARD_TRUSTED_PROXIES"] == subnet
    assert "front" in api["networks"]
    known = {f"TICKYARD_{field.name.upper()}" for field in msgspec.structs.fields(Settings)} | {"TICKYARD_SETTINGS"}
    named = {
        key for service in compose["services"].values() for key in service["environment"] if key.startswith("TICKYARD_")
    }
    assert named <= known
    # Nobody but the agent's image can open a key file.
    assert [name for name, service in compose["services"].items() if "payout.lock" in str(service.get("build"))] == [
        "payout"
    ]


def test_every_process_can_be_watched():
    """An alarm on a figure that nobody reads never rings."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    prometheus = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in prometheus["scrape_configs"]}
    for name, port in {"api": 9402, "worker": 9403, "payout": 9404}.items():
        service = compose["services"][name]
        assert service["environment"]["TICKYARD_METRICS_HOST"] == "0.0.0.0", name
        assert "watching" in service["networks"], name
        assert jobs[f"tickyard-{name}"] == [f"127.0.0.1:{port}"]
        if name != "api":
            assert f":{port}/metrics" in service["healthcheck"]["test"][-1]


def test_no_process_of_ours_can_gain_rights_in_its_container():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name in ("migrate", "api", "worker", "payout"):
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
        # The first process of a container is deaf to signals that it has no handler for yet.
        assert services[name]["init"] is True


def test_units_and_proxy_agree_with_the_settings():
    for unit in (DEPLOY / "systemd").iterdir():
        text = unit.read_text()
        named = set(re.findall(r"TICKYARD_[A-Z0-9_]+(?==)", text))
        known = {f"TICKYARD_{field.name.upper()}" for field in msgspec.structs.fields(Settings)} | {"TICKYARD_SETTINGS"}
        assert named <= known
        assert "NoNewPrivileges=yes" in text
    api = (DEPLOY / "systemd/tickyard-api@.service").read_text()
    assert int(re.search(r"TimeoutStopSec=(\d+)", api)[1]) > STOPS_IN_S
    assert "KEYSTORE" not in api
    proxy = (DEPLOY / "Caddyfile").read_text()
    assert int(re.search(r"keepalive (\d+)s", proxy)[1]) < DEFAULTS.keep_alive_s
    assert int(re.search(r"health_interval (\d+)s", proxy)[1]) * 2 < DEFAULTS.lame_duck_s


def test_the_bounds_of_the_locks_are_those_of_the_project():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"payout", "tracing", "sandbox", "dev"} <= set(extras)
