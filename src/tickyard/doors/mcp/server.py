"""The protocol side of the tool server, on the official package. Imported only when /mcp is used."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import ASGIApp

from tickyard.doors.describe.titles import API_VERSION, TITLE
from tickyard.doors.http.bodies import BODY_MAX_BYTES
from tickyard.doors.mcp.library import ReadableThings
from tickyard.doors.mcp.splice import Splice, hold, result_in_place
from tickyard.doors.mcp.texts import INSTRUCTIONS
from tickyard.doors.mcp.tools import Tool
from tickyard.doors.routes import ClientOf

Context = ServerRequestContext[Any]

_FIXED: Final = CacheHint(ttl_ms=300_000, scope="public")
_READ: Final = CacheHint(ttl_ms=60_000, scope="public")


@asynccontextmanager
async def open_protocol(server: Server[Any]) -> AsyncIterator[ASGIApp]:
    """An ASGI application that speaks both generations of the protocol, each request on its own."""
    # At INFO the package writes a line per request, which costs more than the request.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        max_request_body_size=BODY_MAX_BYTES,
        # Our own guard stands before it: this one cannot leave Origin open.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with manager.run():
        yield Splice(manager.asgi_app)


def build_server(tools: Mapping[str, Tool], client_of: ClientOf, openapi: bytes, base_url: str) -> Server[Any]:
    library = ReadableThings(tools, openapi)
    shown = types.ListToolsResult(tools=[_shown(tool) for tool in tools.values()])

    async def list_tools(_context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        one_page(params)
        return shown

    async def call_tool(_context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        # A call of a tool that exists has been answered by then.
        raise MCPError(INVALID_PARAMS, f"no such tool: {params.name[:64]}")

    async def list_resources(
        _context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        one_page(params)
        return library.resources

    async def list_templates(
        _context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        one_page(params)
        return library.templates

    async def read_resource(_context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await library.read(params.uri)

    async def list_prompts(_context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        one_page(params)
        return library.prompts

    async def get_prompt(_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return library.prompt(params.name, params.arguments or {})

    server: Server[Any] = Server(
        TITLE,
        version=API_VERSION,
        title=TITLE,
        instructions=INSTRUCTIONS,
        website_url=f"{base_url}/docs",
        cache_hints={
            "server/discover": _FIXED,
            "tools/list": _FIXED,
            "prompts/list": _FIXED,
            "resources/list": _FIXED,
            "resources/templates/list": _FIXED,
            "resources/read": _READ,
        },
        # Only a schema that asks for Mcp-Param headers need be looked at before a call; ours do not.
        get_tool_input_schema=lambda _name: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    # In place of the tracing that comes with the package: we measure at the edge.
    server.middleware[:] = [ToolCalls(tools, client_of, server.server_info_stamp)]
    return server


class ToolCalls:
    """Answers tool calls before the package has parsed, validated and copied what the binder will check anyway."""

    def __init__(self, tools: Mapping[str, Tool], client_of: ClientOf, server_info: dict[str, Any]) -> None:
        self._tools = tools
        self._client_of = client_of
        modern = {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: server_info}}
        self._results = {
            (is_modern, is_error): {**result_in_place(is_error), **(modern if is_modern else {})}
            for is_modern in (False, True)
            for is_error in (False, True)
        }

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        arguments = params.get("arguments") or {}
        tool = self._tools.get(name) if isinstance(name := params.get("name"), str) else None
        if ctx.method != "tools/call" or tool is None or not isinstance(arguments, dict) or not ctx.request:
            return await call_next(ctx)
        scope = ctx.request.scope
        outcome = await tool.call(arguments, self._client_of(scope) if tool.asks_who else "")
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        hold(scope, outcome, reads_structure=is_modern)
        return self._results[is_modern, outcome.is_error]


def one_page(params: types.PaginatedRequestParams | None) -> None:
    """Every list fits one page, so no cursor was ever given out."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "no such cursor: the list has one page")


def _telling(annotations: Mapping[str, bool]) -> Mapping[str, bool]:
    """Without what follows: a tool that only reads destroys nothing, and may be called twice."""
    if not annotations["readOnlyHint"]:
        return annotations
    return {name: annotations[name] for name in ("readOnlyHint", "openWorldHint")}


def _shown(tool: Tool) -> types.Tool:
    """What an agent reads before its first question, so every word counts: the shapes of answers, three quarters of it
    all, are in the description of the API, which is a resource. A title would be its name once more."""
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations.model_validate(_telling(tool.annotations)),
    )
