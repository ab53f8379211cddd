// The official client of the first generation, as most agents carry it: lists the tools, calls each one, and asks HTTP
// the same. node first_generation.mjs BASE_URL '[[tool, arguments, {method, path, body}], ...]'
//   ->  {"tools": [...], "results": {tool: {called, status, body}}} on stdout
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const TRIES = 8;
const [base, calls] = process.argv.slice(2);
const client = new Client({ name: "first generation", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`)));
const { tools } = await client.listTools();
const results = {};
for (const [name, args, { method, path, body }] of JSON.parse(calls)) {
  // A block or a second may pass between the two; it does not do so every time.
  for (let tried = 0; tried < TRIES; tried += 1) {
    // The client checks every structured result against the tool's output schema by itself, and throws.
    const called = await client.callTool({ name, arguments: args });
    const headers = body ? { "content-type": "application/json" } : {};
    const answer = await fetch(base + path, { method, headers, body: body ? JSON.stringify(body) : undefined });
    const text = await answer.text();
    results[name] = { called, status: answer.status, body: JSON.parse(text) };
    if (called.content[0].text === text || answer.status !== 200) break;
  }
}
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));
await client.close();
