"""The desk: the one contract of ours that runs on the real chain, and its bytecode as it is shipped."""
