"""Every discovery document against its own rules, and against the catalog."""

import json
import re
from datetime import UTC, datetime, timedelta

import jsonschema
import pytest

from tickyard.catalog import CATALOG
from tickyard.doors.discovery import DOCUMENT_PATHS, documents
from tickyard.doors.discovery_cards import PROTOCOLS, registry_entry, server_name
from tickyard.doors.payment_info import payment_info

BASE = "https://api.example.com"
NOW = datetime(2026, 10, 3, 14, tzinfo=UTC)
PAID = [row for row in CATALOG if row.price is not None]
TOOLS = [row.name for row in CATALOG if row.is_tool]


@pytest.fixture(scope="module")
def found():
    made = documents(CATALOG, base_url=BASE, description="Stocks.", contact="security@example.com", now=NOW)
    return {document.path: document for document in made}


def read(document):
    return json.loads(document.body)


def test_every_document_has_its_path(found):
    assert tuple(found) == DOCUMENT_PATHS


def test_the_x402_manifest_lists_exactly_the_paid_routes(found):
    manifest = read(found["/.well-known/x402"])
    assert (manifest["version"], manifest["x402Version"]) == (1, 2)
    assert len(manifest["resources"]) == len(PAID) > 0
    for url in manifest["resources"]:
        assert url.startswith(f"{BASE}/v1/x402/")
        assert "{" not in url
    assert [entry["operation"] for entry in manifest["endpoints"]] == [row.name for row in PAID]
    assert {entry["price"]["amount"] for entry in manifest["endpoints"]} <= {"0.01", "0.02"}


def test_the_payment_info_of_a_route_tells_its_price():
    build = next(row for row in PAID if row.name == "build_trade")
    assert payment_info(build) == {
        "price": {"mode": "fixed", "currency": "USD", "amount": "0.02"},
        "protocols": [{"x402": {}}],
    }


def test_the_api_catalog_is_a_linkset(found):
    document = found["/.well-known/api-catalog"]
    assert document.content_type.startswith("application/linkset+json;")
    linkset = read(document)["linkset"]
    for context in linkset:
        assert context["anchor"].startswith(BASE)
        for relation, targets in context.items():
            if relation != "anchor":
                assert targets
                assert all(target["href"].startswith(BASE) for target in targets)
    described = next(context for context in linkset if context["anchor"] == f"{BASE}/")
    assert described["service-desc"][0]["href"] == f"{BASE}/openapi.json"


# The rules of A2A 1.0 for an agent card, as far as they concern ours.
TEXT = {"type": "string", "minLength": 1}
AGENT_CARD = {
    "type": "object",
    "required": [
        "name",
        "description",
        "supportedInterfaces",
        "version",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ],
    "properties": {
        "name": TEXT,
        "description": TEXT,
        "version": TEXT,
        "documentationUrl": {"type": "string", "format": "uri"},
        "provider": {"type": "object", "required": ["url", "organization"], "additionalProperties": TEXT},
        "supportedInterfaces": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["url", "protocolBinding", "protocolVersion"],
                "additionalProperties": TEXT,
            },
        },
        "capabilities": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "defaultInputModes": {"type": "array", "items": TEXT},
        "defaultOutputModes": {"type": "array", "items": TEXT},
        "skills": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "name", "description", "tags"],
                "additionalProperties": False,
                "properties": {
                    "id": TEXT,
                    "name": TEXT,
                    "description": TEXT,
                    "tags": {"type": "array", "minItems": 1, "items": TEXT},
                },
            },
        },
    },
    "additionalProperties": False,
}

# The rules shared by the MCP server card (v2) and the registry's server.json (2025-12-11).
SERVER = {
    "type": "object",
    "required": ["$schema", "name", "description", "version"],
    "properties": {
        "$schema": {"type": "string", "pattern": r"^https://static\.modelcontextprotocol\.io/schemas/"},
        "name": {"type": "string", "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255, "pattern": r"^\d+\.\d+\.\d+$"},
        "websiteUrl": {"type": "string", "format": "uri"},
        "remotes": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["type", "url"],
                "properties": {
                    "type": {"const": "streamable-http"},
                    "url": {"type": "string", "pattern": r"^https?://[^\s]+$"},
                    "supportedProtocolVersions": {"type": "array", "items": {"type": "string"}},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def test_the_agent_card_has_one_skill_per_tool(found):
    card = read(found["/.well-known/agent-card.json"])
    jsonschema.validate(card, AGENT_CARD)
    assert [skill["id"] for skill in card["skills"]] == TOOLS


def test_the_server_card_and_the_registry_entry_name_the_same_server(found):
    card, entry = read(found["/.well-known/mcp/server-card.json"]), json.loads(registry_entry(BASE))
    for document in (card, entry):
        jsonschema.validate(document, SERVER)
        assert document["name"] == "com.example.api/tickyard"
        assert document["remotes"][0]["url"] == f"{BASE}/mcp"
    assert card["remotes"][0]["supportedProtocolVersions"] == list(PROTOCOLS)
    # The registry's own shape has no field for it.
    assert "supportedProtocolVersions" not in entry["remotes"][0]


@pytest.mark.parametrize("base", ["http://127.0.0.1:8402", "http://localhost:1", "http://[::1]:8402"])
def test_a_server_without_a_domain_still_has_a_name(base):
    assert re.fullmatch(SERVER["properties"]["name"]["pattern"], server_name(base))


def test_security_txt_names_a_contact_and_expires_within_a_year(found):
    lines = dict(line.split(": ", 1) for line in found["/.well-known/security.txt"].body.decode().splitlines())
    assert lines["Contact"] == "mailto:security@example.com"
    assert NOW < datetime.fromisoformat(lines["Expires"]) < NOW + timedelta(days=366)
    assert lines["Canonical"] == f"{BASE}/.well-known/security.txt"


def test_llms_txt_lists_exactly_the_catalog(found):
    text = found["/llms.txt"].body.decode()
    assert text.startswith("# tickyard\n\n> ")
    listed = set(re.findall(r"^- \[((?:GET|POST|DELETE) [^\]]+)\]", text, re.MULTILINE))
    free = {f"{row.method} {row.path}" for row in CATALOG}
    paid = {f"{row.method} /v1/x402/{row.path.removeprefix('/v1/')}" for row in PAID}
    assert listed == free | paid
    assert all(name in text for name in TOOLS)
