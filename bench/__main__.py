"""`python -m bench http`: exit code 0 when the goals are met, 1 when one is missed, 3 when it was too noisy to say."""

import importlib
import sys

BENCHES = ("http",)


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        print(f"usage: python -m bench {'|'.join(BENCHES)} [options]", file=sys.stderr)
        return 2
    return importlib.import_module(f"bench.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
