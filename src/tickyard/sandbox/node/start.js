// Runs Hardhat's node in this process, says where it listens in one line of JSON on stdout,
// and ends when stdin closes: a parent that dies, however it dies, takes the node with it.
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
process.stdin.on("error", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));

// One request at a time. The EVM works behind a lock anyway, but each waiting request would hold a thread,
// and each thread keeps the memory of the traces it made: gigabytes instead of a few hundred megabytes.
function inTurn(provider) {
  const request = provider.request.bind(provider);
  let last = Promise.resolve();
  provider.request = (args) => {
    const turn = last.then(() => request(args));
    last = turn.then(tidy, tidy);
    return turn;
  };
  return provider;
}

// Traces hang on small objects that give the collector no reason to run: look at what the process really
// holds, and collect at most every so often, because memory comes back some time after it was collected.
const ENOUGH = 300_000_000;
const PAUSE_MS = 100;
let collected = 0;

function tidy() {
  if (process.memoryUsage.rss() > ENOUGH && performance.now() > collected + PAUSE_MS) {
    global.gc();
    collected = performance.now();
  }
}

async function main() {
  const hre = require(require.resolve("hardhat", { paths: [process.cwd()] }));
  const provider = inTurn(await hre.run("node:get-provider", {}));
  const server = await hre.run("node:create-server", {
    hostname: "127.0.0.1",
    port: JSON.parse(process.env.TICKYARD_NODE).port,
    provider,
  });
  const { address, port } = await server.listen();
  process.stdout.write(JSON.stringify({ url: `http://${address}:${port}` }) + "\n");
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
