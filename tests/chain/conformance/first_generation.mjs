// The official client of the first generation, as most agents carry it: lists the tools and calls each one.
// node first_generation.mjs URL '[["get_quote", {...}], ...]'  ->  {"tools": [...], "results": {name: result}} on stdout
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, calls] = process.argv.slice(2);
const client = new Client({ name: "first generation", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const results = {};
// The client checks every structured result against the tool's output schema by itself, and throws.
for (const [name, args] of JSON.parse(calls)) results[name] = await client.callTool({ name, arguments: args });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));
await client.close();
