// An EVM engine behind JSON-RPC, over HTTP and WebSocket on one port. Says where it listens in one line of JSON on stdout, and ends when stdin closes:
// a parent that dies, however it dies, takes the node with it. What differs between runs comes in TICKYARD_NODE as
// JSON: chainId, initialDate (ISO time), intervalMs (0: a block per transaction only) and port.
const http = require("http");
const { createRequire } = require("module");

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
process.stdin.on("error", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));

const options = JSON.parse(process.env.TICKYARD_NODE);
// The packages are those of the checkout, wherever this file is installed.
const need = createRequire(`${process.cwd()}/`);
const edr = need("@nomicfoundation/edr");
const { WebSocketServer } = need("ws");
const BLOCK_GAS = 1_000_000_000n;
const CALL_GAS = 50_000_000n;

// Who listens to which subscription, by its id as the engine counts them.
const listeners = new Map();

function tell({ filterId, result }) {
  const params = { subscription: `0x${filterId.toString(16)}`, result };
  listeners.get(filterId)?.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
}

async function open() {
  const context = new edr.EdrContext();
  await context.registerProviderFactory(edr.GENERIC_CHAIN_TYPE, edr.genericChainProviderFactory());
  const config = {
    allowBlocksWithSameTimestamp: true,
    allowUnlimitedContractSize: true,
    bailOnCallFailure: true,
    bailOnTransactionFailure: true,
    chainId: BigInt(options.chainId),
    networkId: BigInt(options.chainId),
    coinbase: Buffer.from("c014ba5ec014ba5ec014ba5ec014ba5ec014ba5e", "hex"),
    defaultTransactionGasLimit: BLOCK_GAS,
    // Later forks cap a transaction at 16.7 M gas; the world is built with larger ones.
    hardfork: edr.PRAGUE,
    genesisState: edr.l1GenesisState(edr.l1HardforkFromString(edr.PRAGUE)),
    // With a base fee of zero an account without ETH can still send.
    initialBaseFeePerGas: 0n,
    minGasPrice: 0n,
    mining: {
      autoMine: true,
      blockGasLimit: BLOCK_GAS,
      interval: options.intervalMs ? BigInt(options.intervalMs) : undefined,
      memPool: { order: edr.MineOrdering.Priority },
    },
    network: {
      genesisBlockGasLimit: BLOCK_GAS,
      genesisBlockTime: BigInt(Math.floor(Date.parse(options.initialDate) / 1000)),
    },
    // Nobody reads traces here, and kept ones are gigabytes within the hour.
    observability: { includeCallTraces: edr.IncludeTraces.None },
    ownedAccounts: [],
    precompileOverrides: [],
  };
  const quiet = { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => {} };
  const events = { subscriptionCallback: tell };
  return context.createProvider(edr.GENERIC_CHAIN_TYPE, config, quiet, events, new edr.ContractDecoder());
}

// A call that may burn a whole block's gas in a loop costs the engine gigabytes: it gets what public nodes give it.
function bounded(asked) {
  const [call, ...rest] = asked.params ?? [];
  if (!/^eth_(call|estimateGas)$/.test(asked.method) || !call || typeof call !== "object") return asked;
  const isMore = call.gas === undefined || (/^0x[0-9a-f]+$/i.test(call.gas) && BigInt(call.gas) > CALL_GAS);
  return isMore ? { ...asked, params: [{ ...call, gas: `0x${CALL_GAS.toString(16)}` }, ...rest] } : asked;
}

async function answer(provider, asked) {
  // Some clients leave out empty parameters, which every public node takes.
  const { data } = await provider.handleRequest(JSON.stringify({ params: [], ...bounded(asked) }));
  // The engine tells the result or the error alone; large ones as text, which is not parsed again.
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(asked.id ?? null)},${text.slice(1)}`;
}

// One at a time, as the engine itself works. So that calls whose callers gave up can be left out: else a node that is
// slow for a moment is busy for minutes with answers nobody waits for, and slower for it.
let turn = Promise.resolve();

function inTurn(work) {
  turn = turn.then(work, work);
  return turn;
}

// Only what changes nothing may be left out.
const READS = /^(eth_(call|estimateGas|get|block|chainId|gasPrice|feeHistory|simulate)|net_|web3_)/;

function isReading(asked) {
  return (Array.isArray(asked) ? asked : [asked]).every((one) => READS.test(one?.method));
}

async function serve(provider, body, isGone = () => false) {
  let asked;
  try {
    asked = JSON.parse(body);
  } catch {
    return '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
  }
  const isIdle = () => isGone() && isReading(asked);
  if (!Array.isArray(asked)) return inTurn(() => (isIdle() ? "" : answer(provider, asked)));
  const answers = [];
  // In turn, as they were sent: transactions of one batch follow each other.
  for (const one of asked) answers.push(await inTurn(() => (isIdle() ? "" : answer(provider, one))));
  return `[${answers.join(",")}]`;
}

async function main() {
  const provider = await open();
  const server = http.createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", async () => {
      const text = await serve(provider, Buffer.concat(pieces).toString(), () => response.destroyed);
      if (response.destroyed) return;
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
      response.end(text);
    });
  });
  // Longer than clients keep theirs: the five seconds of old hang up on whoever pauses to think and then sends.
  server.keepAliveTimeout = 120_000;
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => {
    socket.on("message", async (data) => {
      const text = await serve(provider, data.toString());
      socket.send(text);
      const { result } = JSON.parse(text);
      if (/"eth_subscribe"/.test(data) && typeof result === "string") listeners.set(BigInt(result), socket);
    });
    socket.on("close", () => {
      for (const [id, listener] of listeners) if (listener === socket) listeners.delete(id);
    });
  });
  server.listen(options.port, "127.0.0.1", () => {
    process.stdout.write(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }) + "\n");
  });
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
