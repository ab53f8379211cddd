// One development chain. Everything that differs between runs comes in TICKYARD_NODE as JSON:
// chainId, initialDate (ISO time), intervalMs (0: a block per transaction only) and runDir.
const path = require("path");

const options = JSON.parse(process.env.TICKYARD_NODE);

/** @type {import("hardhat/config").HardhatUserConfig} */
module.exports = {
  solidity: { compilers: [] },
  // Hardhat wants a home for what it would compile; nothing may land outside the run's folder.
  paths: {
    root: options.runDir,
    sources: path.join(options.runDir, "sources"),
    cache: path.join(options.runDir, "cache"),
    artifacts: path.join(options.runDir, "artifacts"),
  },
  networks: {
    hardhat: {
      chainId: options.chainId,
      // Later forks cap a transaction at 16.7 M gas; the world is built with larger ones.
      hardfork: "prague",
      blockGasLimit: 1_000_000_000,
      allowUnlimitedContractSize: true,
      // With a base fee of zero an account without ETH can still send.
      initialBaseFeePerGas: 0,
      gasPrice: 0,
      initialDate: options.initialDate,
      allowBlocksWithSameTimestamp: true,
      loggingEnabled: false,
      mining: { auto: true, interval: options.intervalMs },
      accounts: [],
    },
  },
};
