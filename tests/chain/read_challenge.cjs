// Reads challenges as the reference TypeScript packages do: a JSON list of PAYMENT-REQUIRED headers on standard input,
// a JSON list of what was understood on standard output.
const { decodePaymentRequiredHeader } = require("@x402/core/http");
const { PaymentRequiredV2Schema, isPaymentRequiredV2 } = require("@x402/core/schemas");

function read(header) {
  const challenge = decodePaymentRequiredHeader(header);
  const parsed = PaymentRequiredV2Schema.safeParse(challenge);
  const errors = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  if (!isPaymentRequiredV2(challenge)) errors.push("is not version 2");
  return { version: challenge.x402Version, networks: challenge.accepts.map((offer) => offer.network), errors };
}

const headers = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(headers.map(read)));
