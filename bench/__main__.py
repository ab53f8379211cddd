"""`python -m bench [NAME ...]`: exit code 0 when the goals are met, 1 when one is missed, 3 when it was too noisy."""

import importlib
import sys

BENCHES = ("http", "rpc", "live", "research", "batch", "mcp", "earn", "payments", "store", "alerts")
LONG = ("memory",)
"""Only when they are named."""


def main() -> int:
    names = sys.argv[1:] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES + LONG]
    if unknown:
        print(f"usage: python -m bench [{'|'.join(BENCHES + LONG)} ...]", file=sys.stderr)
        return 2
    codes = []
    for name in names:
        print(f"\n== {name} ==", flush=True)
        codes.append(importlib.import_module(f"bench.{name}").main([]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
