"""Where the doors that are no operation are found."""

from typing import Final

MCP_PATH: Final = "/mcp"
