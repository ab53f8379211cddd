"""Check one epoch of the reward program from the chain alone: python check_epoch.py NODE_URL DESK BOOKS.csv.gz EPOCH

The file is the only thing taken from the service, and the desk on the chain says whether it is the right one.
"""

import csv
import gzip
import hashlib
import io
import json
import sys
import urllib.request

PAID = "0x4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f"  # Paid(uint256,address,uint256)
BOOKS, POOL, SPENT = "68744046", "fe313112", "d5b5cc23"  # books(uint256), pool(uint256), spent(uint256)


def must(is_true, why):  # not an assert: those are gone under python -O
    if not is_true:
        sys.exit(f"NOT AS IT SHOULD BE: {why}")


def check(url, desk, file, epoch, stride=100_000):
    def ask(method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["result"]

    def call(name):
        return ask("eth_call", {"to": desk, "data": f"0x{name}{epoch:064x}"}, "latest")[2:]

    text = gzip.open(file).read()
    must(hashlib.sha256(text).hexdigest() == call(BOOKS), "these are not the books that the desk was opened with")
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    pool, total = int(call(POOL), 16), sum(int(row["balance"]) for row in rows)
    shares = {row["address"]: int(row["share"]) for row in rows}
    must(len(shares) == len(rows), "a wallet is in the books twice")
    wrong = [row for row in rows if int(row["share"]) != pool * int(row["balance"]) // total]
    must(not wrong, f"not their share of the pool: {wrong[:3]}")
    paid = {}
    for first in range(0, int(ask("eth_blockNumber"), 16) + 1, stride):
        query = {"address": desk, "topics": [PAID, f"0x{epoch:064x}"], "fromBlock": hex(first)}
        for log in ask("eth_getLogs", query | {"toBlock": hex(first + stride - 1)}):
            account = "0x" + log["topics"][2][26:]
            must(account not in paid, f"{account} was paid twice")
            must(int(log["data"], 16) == shares.get(account), f"{account} was not paid its share")
            paid[account] = int(log["data"], 16)
    must(sum(paid.values()) == int(call(SPENT), 16) <= pool, "the payments do not add up")
    return f"{epoch}: {len(rows)} wallets share {pool / 1e6} USDG; {len(paid)} were paid {sum(paid.values()) / 1e6}"


if __name__ == "__main__":
    print(check(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
