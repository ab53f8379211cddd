"""Every discovery document against its published rules, and against the catalog."""

import importlib.resources
import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import jsonschema
import pytest

from tickyard.catalog import CATALOG
from tickyard.doors.describe.cards import PROTOCOLS, registry_entry, server_name
from tickyard.doors.describe.discovery import DOCUMENT_PATHS, documents, security_txt
from tickyard.doors.describe.payment_info import payment_info
from tickyard.kernel.clock import WallClock
from yards.patience import STUCK_S

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
    """Field by field: RFC 9264 gives a grammar and no schema, and no maintained package reads the format.

    Section 4.2: the document has the one member `linkset`, an array of context objects; a context has at most one
    `anchor`, a URI; every other member is a relation type with an array of target objects; a target has `href`, and
    its attributes are texts. RFC 9727: the type names the profile, and the catalog itself lists its APIs by `item`.
    """
    document = found["/.well-known/api-catalog"]
    assert document.content_type == ('application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"')
    catalog = read(document)
    assert set(catalog) == {"linkset"}
    for context in catalog["linkset"]:
        assert context["anchor"].startswith(BASE)
        relations = {name: targets for name, targets in context.items() if name != "anchor"}
        assert relations
        for name, targets in relations.items():
            assert name in REGISTERED
            assert targets
            for target in targets:
                assert target["href"].startswith(BASE)
                assert set(target) <= {"href", "type"}
                assert all(isinstance(value, str) for value in target.values())
    items, api, tools = catalog["linkset"]
    assert [item["href"] for item in items["item"]] == [api["anchor"], tools["anchor"]] == [f"{BASE}/", f"{BASE}/mcp"]
    assert api["service-desc"][0]["href"] == f"{BASE}/openapi.json"
    assert tools["service-desc"][0]["href"] == f"{BASE}/.well-known/mcp/server-card.json"


# Relation types of the public register (RFC 6573 and RFC 8631).
REGISTERED = {"item", "service-desc", "service-doc", "service-meta", "status"}


# What A2A 1.0 marks as required. The SDK's own reader takes the card apart in test_discovery_readers.py.
AGENT_CARD = {
    "name",
    "description",
    "supportedInterfaces",
    "version",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
}


def test_the_agent_card_has_one_skill_per_tool(found):
    card = read(found["/.well-known/agent-card.json"])
    assert set(card) >= AGENT_CARD
    for interface in card["supportedInterfaces"]:
        assert set(interface) >= {"url", "protocolBinding", "protocolVersion"}
    assert [skill["id"] for skill in card["skills"]] == TOOLS
    for skill in card["skills"]:
        assert all(skill[name] for name in ("id", "name", "description", "tags"))


def registry_schema():
    """The registry's schema of 2025-12-11, byte for byte as published, out of the package that carries it."""
    schemas = importlib.resources.files("skillsaw") / "schemas" / "mcp_registry"
    return json.loads((schemas / "v2025_12_11" / "server.schema.json").read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("base", ["https://api.example.com", "http://127.0.0.1:8402", "http://[::1]:8402"])
def test_the_registry_entry_fits_the_published_schema(base):
    entry, schema = json.loads(registry_entry(base)), registry_schema()
    assert entry["$schema"] == schema["$id"]
    jsonschema.validate(entry, schema)
    # It does notice what is wrong.
    for wrong in ({"description": "x" * 101}, {"name": "tickyard"}, {"remotes": [{"type": "streamable-http"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**entry, **wrong}, schema)


@pytest.mark.slow
def test_the_registry_entry_is_a_command():
    command = [sys.executable, "-m", "tickyard", "server-json", "--url", f"{BASE}/"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=STUCK_S)
    assert done.stdout == registry_entry(BASE)


def test_the_server_card_has_the_fields_of_the_extension(found):
    """Field by field: the schema of the server-card extension (SEP-2127) is in no package, and nothing is copied in.

    It requires $schema, name, version and description; title, websiteUrl, repository, icons, remotes and _meta may be
    there, nothing else; a remote has type and url, and may have headers, variables and supportedProtocolVersions.
    """
    document = found["/.well-known/mcp/server-card.json"]
    assert document.content_type == "application/mcp-server-card+json"
    card = read(document)
    assert set(card) == {"$schema", "name", "title", "description", "version", "websiteUrl", "remotes"}
    assert card["$schema"] == "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert 3 <= len(card["name"]) <= 200
    assert 1 <= len(card["title"]) <= 100
    assert 1 <= len(card["description"]) <= 100
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", card["version"])
    remote = {"type": "streamable-http", "url": f"{BASE}/mcp", "supportedProtocolVersions": list(PROTOCOLS)}
    assert card["remotes"] == [remote]


def test_the_server_card_and_the_registry_entry_name_the_same_server(found):
    card, entry = read(found["/.well-known/mcp/server-card.json"]), json.loads(registry_entry(BASE))
    assert card["name"] == entry["name"] == "com.example.api/tickyard"
    for name in ("title", "description", "version", "websiteUrl"):
        assert card[name] == entry[name]
    assert card["remotes"][0]["url"] == entry["remotes"][0]["url"] == f"{BASE}/mcp"


@pytest.mark.parametrize("base", ["http://127.0.0.1:8402", "http://localhost:1", "http://[::1]:8402"])
def test_a_server_without_a_domain_still_has_a_name(base):
    assert re.fullmatch(
        registry_schema()["definitions"]["ServerDetail"]["properties"]["name"]["pattern"], server_name(base)
    )


@pytest.mark.parametrize("contact", ["security@example.com", "mailto:security@example.com", "https://example.com/s"])
def test_security_txt_is_read_by_a_parser_of_the_standard(contact):
    text = security_txt(BASE, contact, WallClock().now())
    import sectxt  # slow to load, and only needed here

    parsed = sectxt.Parser(text.encode(), urls=f"{BASE}/.well-known/security.txt")
    assert parsed.is_valid(), parsed.errors
    # Neither is required: a signature would need a key beside the service, an encryption key a person who reads with it.
    assert {each["code"] for each in parsed.recommendations} <= {"not_signed", "no_encryption"}


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
