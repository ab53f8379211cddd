"""What agents can read besides tools: resources and prompts."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from tickyard.doors.mcp.texts import DEFAULT_ARGUMENTS, PROMPTS, UNITS, PromptText
from tickyard.doors.mcp.tools import Tool

ASSETS: Final = "tickyard://assets"
OPENAPI: Final = "tickyard://openapi"
UNITS_PAGE: Final = "tickyard://units"
_JSON: Final = "application/json"
_MARKDOWN: Final = "text/markdown"
_ARGUMENT_MAX: Final = 100


class ReadableThings:
    def __init__(self, tools: Mapping[str, Tool], openapi: bytes) -> None:
        self._tools = tools
        self._pages = {UNITS_PAGE: (_MARKDOWN, UNITS), OPENAPI: (_JSON, openapi.decode())}
        self.resources = types.ListResourcesResult(resources=_resources("list_assets" in tools))
        self.templates = types.ListResourceTemplatesResult(resource_templates=_templates("get_asset" in tools))
        self.prompts = types.ListPromptsResult(prompts=[_prompt(text) for text in PROMPTS])

    async def read(self, uri: str) -> types.ReadResourceResult:
        if uri in self._pages:
            kind, text = self._pages[uri]
        else:
            kind, text = _JSON, await self._read_assets(uri)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])

    async def _read_assets(self, uri: str) -> str:
        symbol = unquote(uri.removeprefix(f"{ASSETS}/")) if uri.startswith(f"{ASSETS}/") else ""
        tool = self._tools.get("get_asset" if symbol else "list_assets")
        if tool is None or not (symbol or uri == ASSETS):
            raise _missing(uri)
        outcome = await tool.call({"symbol": symbol} if symbol else {}, "")
        if outcome.is_error:
            text = outcome.body.decode()
            raise _missing(uri) if '"not_found"' in text or '"bad_request"' in text else MCPError(INTERNAL_ERROR, text)
        return outcome.body.decode()

    def prompt(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
        text = next((text for text in PROMPTS if text.name == name), None)
        if text is None:
            raise MCPError(INVALID_PARAMS, f"no such prompt: {name[:64]}")
        given = {key: value for key, value in arguments.items() if value}
        for key, _, is_required in text.arguments:
            if is_required and key not in given:
                raise MCPError(INVALID_PARAMS, f"{key} is required")
            if len(given.get(key, "")) > _ARGUMENT_MAX:
                raise MCPError(INVALID_PARAMS, f"{key} is over {_ARGUMENT_MAX} characters")
        filled = text.text.format_map({**DEFAULT_ARGUMENTS, **given})
        message = types.PromptMessage(role="user", content=types.TextContent(text=filled))
        return types.GetPromptResult(description=text.description, messages=[message])


def _missing(uri: str) -> MCPError:
    return MCPError(INVALID_PARAMS, "no such resource", {"uri": uri[:200]})


def _resources(has_assets: bool) -> list[types.Resource]:
    shown = [
        types.Resource(
            uri=OPENAPI,
            name="openapi",
            title="API description",
            description="The HTTP API of the same operations, OpenAPI 3.1.",
            mime_type=_JSON,
        ),
        types.Resource(
            uri=UNITS_PAGE,
            name="units",
            title="Units and multipliers",
            description="How amounts, prices and multipliers are to be read. One page.",
            mime_type=_MARKDOWN,
        ),
    ]
    if has_assets:
        assets = types.Resource(
            uri=ASSETS,
            name="assets",
            title="Asset list",
            description="Every tokenized stock and ETF, as list_assets answers it.",
            mime_type=_JSON,
        )
        shown.insert(0, assets)
    return shown


def _templates(has_asset: bool) -> list[types.ResourceTemplate]:
    one = types.ResourceTemplate(
        uri_template=f"{ASSETS}/{{symbol}}",
        name="asset",
        title="One asset",
        description="One asset by its ticker, as get_asset answers it.",
        mime_type=_JSON,
    )
    return [one] if has_asset else []


def _prompt(text: PromptText) -> types.Prompt:
    return types.Prompt(
        name=text.name,
        title=text.title,
        description=text.description,
        arguments=[
            types.PromptArgument(name=name, description=about, required=is_required)
            for name, about, is_required in text.arguments
        ],
    )
