// The reference TypeScript client as a buyer: pays one URL and says in one line of JSON what came back.
// Takes the URL, a private key, the network to pay on (without one, or with an empty one, the client has its
// defaults), and a JSON body that makes it a POST.
const { wrapFetchWithPayment, x402Client } = require("@x402/fetch");
const { decodePaymentResponseHeader } = require("@x402/fetch");
const { registerExactEvmScheme } = require("@x402/evm/exact/client");
const { privateKeyToAccount } = require("viem/accounts");

async function main([url, key, network, body]) {
  const client = new x402Client();
  registerExactEvmScheme(client, { signer: privateKeyToAccount(key) });
  if (network) {
    client.setSpendControls({ allowedAssets: true });
    client.registerPolicy((_version, offers) => offers.filter((offer) => offer.network === network));
  }
  const request = body ? { method: "POST", body, headers: { "content-type": "application/json" } } : {};
  const answer = await wrapFetchWithPayment(fetch, client)(url, request);
  const header = answer.headers.get("PAYMENT-RESPONSE");
  const receipt = header ? decodePaymentResponseHeader(header) : null;
  console.log(JSON.stringify({ status: answer.status, body: await answer.text(), receipt }));
}

main(process.argv.slice(2));
