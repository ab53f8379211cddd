// The reference TypeScript client with its sign-in extension, whose first answer gets lost on the way: it asks again as it
// always does. Takes the URL, a private key and the network; says in one line of JSON what each request carried and got.
const { wrapFetchWithPayment, x402Client } = require("@x402/fetch");
const { registerExactEvmScheme } = require("@x402/evm/exact/client");
const { createSIWxClientExtension } = require("@x402/extensions/sign-in-with-x");
const { privateKeyToAccount } = require("viem/accounts");

async function main([url, key, network]) {
  const seen = [];
  let isLost = false;
  const lossy = async (input, init) => {
    const request = new Request(input, init);
    const carried = ["payment-signature", "sign-in-with-x"].filter((name) => request.headers.has(name));
    const answer = await fetch(request);
    seen.push([carried, answer.status]);
    if (answer.status === 200 && !isLost) {
      isLost = true;
      throw new Error("the connection was reset");
    }
    return answer;
  };
  const signer = privateKeyToAccount(key);
  const client = new x402Client();
  registerExactEvmScheme(client, { signer });
  client.setSpendControls({ allowedAssets: true });
  client.registerPolicy((_version, offers) => offers.filter((offer) => offer.network === network));
  client.registerExtension(createSIWxClientExtension({ signers: [signer] }));
  const paying = wrapFetchWithPayment(lossy, client);
  await paying(url).catch(() => {});
  const answer = await paying(url);
  console.log(JSON.stringify({ seen, status: answer.status, body: await answer.text() }));
}

main(process.argv.slice(2));
