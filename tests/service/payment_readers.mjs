// What the reference extensions make of our receipts and challenges.
// node payment_readers.mjs receipt PAYMENT-RESPONSE JWK | sign-in CHALLENGE KEY URL  ->  one JSON object on stdout
import { extractReceiptFromResponse, verifyReceiptSignatureJWS } from "@x402/extensions/offer-receipt";
import { createSIWxPayload, encodeSIWxHeader } from "@x402/extensions/sign-in-with-x";
import { privateKeyToAccount } from "viem/accounts";

const [what, given, second, third] = process.argv.slice(2);
if (what === "receipt") {
  const receipt = extractReceiptFromResponse(new Response("{}", { headers: { "PAYMENT-RESPONSE": given } }));
  console.log(JSON.stringify(await verifyReceiptSignatureJWS(receipt, JSON.parse(second))));
} else {
  const { info, supportedChains } = JSON.parse(given);
  const chain = supportedChains.find((each) => each.chainId === "eip155:8453");
  const payload = await createSIWxPayload({ ...info, ...chain }, privateKeyToAccount(second), third);
  console.log(JSON.stringify({ header: encodeSIWxHeader(payload) }));
}
