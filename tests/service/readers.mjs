// What the programs that read our discovery documents make of them: the A2A SDK and the x402 directories' own reader.
// node readers.mjs BASE_URL  ->  one JSON object on stdout
import { AgentCard } from "@a2a-js/sdk";
import { DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import * as directory from "@agentcash/discovery";

const base = process.argv[2];
const value = (result) => {
  if (result.isErr()) throw new Error(JSON.stringify(result.error));
  return result.value;
};

const resolved = await new DefaultAgentCardResolver().resolve(base);
const card = await (await fetch(`${base}/.well-known/agent-card.json`)).json();

const described = value(await directory.getOpenAPI(base));
const listed = directory.checkL2ForOpenAPI(described);
const manifest = value(await directory.getX402WellKnown(base));
const paid = [];
for (const url of manifest.raw.resources) {
  const found = await directory.checkEndpointSchema({ url, probe: true });
  // The first advisory is what the route itself answered to a call without payment.
  for (const { authMode, paymentOptions, paymentRequiredBody, inputSchema } of found.advisories ?? []) {
    if (!paymentRequiredBody) continue;
    const { valid, issues } = directory.validatePaymentRequiredDetailed(paymentRequiredBody);
    const networks = paymentOptions.map((option) => option.network);
    paid.push({ url, authMode, networks, hasInput: Boolean(inputSchema), valid, issues, body: paymentRequiredBody });
    break;
  }
}

console.log(
  JSON.stringify({
    card: { resolved: AgentCard.toJSON(resolved), read: AgentCard.toJSON(AgentCard.fromJSON(card)), served: card },
    routes: listed.routes,
    warnings: [...directory.getWarningsForOpenAPI(described), ...directory.getWarningsForL2(listed)],
    manifest: { routes: manifest.routes, warnings: directory.getWarningsForWellKnown(manifest) },
    paid,
  }),
);
