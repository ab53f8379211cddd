"""The diagnostic server that the conformance suite wants to talk to, behind our own door.

What the suite asks of tools that no real service has: every kind of content, input from the user in several rounds.
"""

import hashlib
import hmac
import json
from typing import Any

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

INVALID_PARAMS, MISSING_CAPABILITY = -32602, -32021
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
KEY = b"conformance"

TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


def embedded(uri: str, text: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


CONTENT = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        TEXT,
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    "test_tool_with_progress": [TEXT],
    "test_logging_tool": [TEXT],
    "test_streaming_elicitation": [TEXT],
    "test_headers": [TEXT],
}


def question(message: str, **properties: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(text: str) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


ROOTS = {"method": "roots/list", "params": {}}
NAME = question("What is your name?", name="string")
CONFIRM = question("Please confirm", ok="boolean")
CAPITAL = sampling("What is the capital of France?")

# Rounds of questions; a tool with a state signs it.
ROUNDS: dict[str, list[dict[str, Any]]] = {
    "test_input_required_result_elicitation": [{"user_name": NAME}],
    "test_input_required_result_sampling": [{"capital_question": CAPITAL}],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [{"confirm": CONFIRM}],
    "test_input_required_result_tampered_state": [{"confirm": CONFIRM}],
    "test_input_required_result_multiple_inputs": [
        {"user_name": NAME, "greeting": sampling("Generate a greeting"), "client_roots": ROOTS}
    ],
    "test_input_required_result_multi_round": [
        {"step1": question("Step 1: What is your name?", name="string")},
        {"step2": question("Step 2: What is your favorite color?", color="string")},
    ],
}
WITH_STATE = {name for name in ROUNDS if not name.endswith(("elicitation", "sampling", "list_roots"))}
EMPTY = {"type": "object", "properties": {}}
ADDRESS = {"$anchor": "address", "type": "object", "properties": {"street": {"type": "string"}}}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contact": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["contact"]}]}],
    "if": {"required": ["address"]},
    "then": {"required": ["name"]},
    "else": {},
    "additionalProperties": False,
}
SCHEMAS = {
    "json_schema_2020_12_tool": SCHEMA_2020,
    "test_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
}


def sign(state: str) -> str:
    return f"{state}.{hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()}"


def opened(state: Any) -> int:
    """The round that a state belongs to; a state that is not ours is refused."""
    text, _, _ = str(state).partition(".")
    if state != sign(text):
        raise MCPError(INVALID_PARAMS, "the request state is not ours")
    return int(text)


def ask(requests: dict[str, Any], state: str | None = None) -> dict[str, Any]:
    more = {"requestState": state} if state is not None else {}
    return {"resultType": "input_required", "inputRequests": requests, **more}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "resultType": "complete", **more}


def in_rounds(name: str, params: dict[str, Any]) -> dict[str, Any]:
    rounds, answers = ROUNDS[name], params.get("inputResponses") or {}
    state = params.get("requestState")
    at = opened(state) if state is not None else 0
    wanted = rounds[at]
    if not set(wanted) <= set(answers):
        return ask(wanted, sign(str(at)) if name in WITH_STATE else None)
    if at + 1 < len(rounds):
        return ask(rounds[at + 1], sign(str(at + 1)))
    return said(f"state-ok: {json.dumps(answers)}")


def by_capability(params: dict[str, Any]) -> dict[str, Any]:
    can = params.get("_meta", {}).get("io.modelcontextprotocol/clientCapabilities", {})
    offers = {"sampling": CAPITAL, "elicitation": NAME, "roots": ROOTS}
    return ask({f"ask_{name}": offer for name, offer in offers.items() if name in can})


async def call_tool(context: Any, params: Any) -> Any:
    raw = dict(context.params)
    if params.name in CONTENT:
        return {"content": CONTENT[params.name], "resultType": "complete"}
    if params.name == "test_error_handling":
        return said("This tool intentionally returns an error for testing", isError=True)
    if params.name == "json_schema_2020_12_tool":
        return said("ok")
    if params.name in ROUNDS:
        return in_rounds(params.name, raw)
    if params.name == "test_input_required_result_capabilities":
        return by_capability(raw)
    if params.name == "test_missing_capability":
        can = raw.get("_meta", {}).get("io.modelcontextprotocol/clientCapabilities", {})
        if "sampling" in can:
            return said("sampling is there")
        raise MCPError(
            MISSING_CAPABILITY, "this tool needs the client's sampling", {"requiredCapabilities": {"sampling": {}}}
        )
    raise MCPError(INVALID_PARAMS, f"no such tool: {params.name}")


NAMES = [
    *CONTENT,
    *ROUNDS,
    "test_error_handling",
    "json_schema_2020_12_tool",
    "test_input_required_result_capabilities",
    "test_missing_capability",
]


async def list_tools(_context: Any, _params: Any) -> Any:
    tools = [
        {"name": name, "description": name.replace("_", " "), "inputSchema": SCHEMAS.get(name, EMPTY)} for name in NAMES
    ]
    return {"tools": tools, "resultType": "complete", "ttlMs": 1000, "cacheScope": "public"}


CACHED = {"resultType": "complete", "ttlMs": 1000, "cacheScope": "public"}
RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
}


async def list_resources(_context: Any, _params: Any) -> Any:
    shown = [{"uri": uri, "name": uri[7:], "mimeType": page["mimeType"]} for uri, page in RESOURCES.items()]
    return {"resources": shown, **CACHED}


async def list_templates(_context: Any, _params: Any) -> Any:
    one = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
    return {"resourceTemplates": [one], **CACHED}


async def read_resource(_context: Any, params: Any) -> Any:
    if params.uri in RESOURCES:
        return {"contents": [{"uri": params.uri, **RESOURCES[params.uri]}], **CACHED}
    head, _, rest = params.uri.partition("test://template/")
    if not head and rest.endswith("/data"):
        text = json.dumps({"id": rest.removesuffix("/data"), "templateTest": True})
        return {"contents": [{"uri": params.uri, "mimeType": "application/json", "text": text}], **CACHED}
    raise MCPError(INVALID_PARAMS, "no such resource", {"uri": params.uri})


def user(content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content}


def prompt_text(text: str) -> dict[str, Any]:
    return user({"type": "text", "text": text})


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def list_prompts(_context: Any, _params: Any) -> Any:
    shown = [
        {"name": name, "description": name, "arguments": [{"name": each, "required": True} for each in arguments]}
        for name, arguments in PROMPTS.items()
    ]
    return {"prompts": shown, **CACHED}


async def get_prompt(context: Any, params: Any) -> Any:
    given = params.arguments or {}
    if params.name == "test_input_required_result_prompt":
        if not dict(context.params).get("inputResponses"):
            return ask({"user_context": question("What context should the prompt use?", context="string")})
        messages = [prompt_text("with context")]
    elif params.name == "test_prompt_with_image":
        messages = [user(IMAGE), prompt_text("Please analyze the image above.")]
    elif params.name == "test_prompt_with_embedded_resource":
        resource = embedded(given["resourceUri"], "Embedded resource content for testing.")
        messages = [user(resource), prompt_text("Please process the embedded resource above.")]
    elif params.name == "test_prompt_with_arguments":
        messages = [prompt_text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    elif params.name == "test_simple_prompt":
        messages = [prompt_text("This is a simple prompt for testing.")]
    else:
        raise MCPError(INVALID_PARAMS, "no such prompt")
    return {"messages": messages, "resultType": "complete"}


async def complete(_context: Any, _params: Any) -> Any:
    return {"completion": {"values": ["paris", "park"], "total": 2, "hasMore": False}, "resultType": "complete"}


def build() -> Server[Any]:
    return Server(
        "conformance",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
