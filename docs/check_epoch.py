"""Check one epoch of the reward program from the chain alone:

    python check_epoch.py NODE_URL DESK BOOKS.csv.gz EPOCH [FIRST_BLOCK [BLOCKS_AT_ONCE]]

No payment before FIRST_BLOCK is seen, and then they do not add up; nodes have limits of their own for BLOCKS_AT_ONCE.
The file is the only thing taken from the service, and the desk on the chain says whether it is the right one.
"""

import gzip
import hashlib
import json
import re
import sys
import urllib.request

PAID = "0x4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f"  # Paid(uint256,address,uint256)
BOOKS, POOL, SPENT = "68744046", "fe313112", "d5b5cc23"  # books(uint256), pool(uint256), spent(uint256)
LINE = re.compile(r"0x[0-9a-f]{40},[1-9][0-9]*,(0|[1-9][0-9]*)")  # address, balance, share: in one form only


def must(is_true, why):  # not an assert: those are gone under python -O
    if not is_true:
        sys.exit(f"NOT AS IT SHOULD BE: {why}")


def check(url, desk, file, epoch, first_block=0, stride=100_000):
    def ask(method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        return answer["result"] if "result" in answer else sys.exit(f"the node refused {method}: {answer.get('error')}")

    # All of it as of one block: payments go on while we read. The state first, which nodes do not keep for long.
    head = int(ask("eth_blockNumber"), 16)
    books, pool, spent = (
        ask("eth_call", {"to": desk, "data": f"0x{name}{epoch:064x}"}, hex(head))[2:] for name in (BOOKS, POOL, SPENT)
    )
    text = gzip.open(file).read()
    must(hashlib.sha256(text).hexdigest() == books, "these are not the books that the desk was opened with")
    head_line, *lines, end = text.decode().split("\n")
    is_plain = (head_line, end) == ("address,balance,share", "") and all(map(LINE.fullmatch, lines))
    must(is_plain, "the books can be read in two ways")
    rows = [(address, int(balance), int(share)) for address, balance, share in (line.split(",") for line in lines)]
    pool, total, shares = int(pool, 16), sum(row[1] for row in rows), {row[0]: row[2] for row in rows}
    must(len(shares) == len(rows), "a wallet is in the books twice")
    must(list(shares) == sorted(shares), "the wallets are not in the order of addresses")
    wrong = [row for row in rows if row[2] != pool * row[1] // total]
    must(not wrong, f"not their share of the pool: {wrong[:3]}")
    paid = {}
    for first in range(first_block, head + 1, stride):
        query = {"address": desk, "topics": [PAID, f"0x{epoch:064x}"], "fromBlock": hex(first)}
        for log in ask("eth_getLogs", query | {"toBlock": hex(min(first + stride - 1, head))}):
            account = "0x" + log["topics"][2][26:]
            must(account not in paid, f"{account} was paid twice")
            must(int(log["data"], 16) == shares.get(account), f"{account} was not paid its share")
            paid[account] = int(log["data"], 16)
    must(sum(paid.values()) == int(spent, 16) <= pool, "the payments do not add up")
    return f"{epoch}: {len(rows)} wallets share {pool / 1e6:f} USDG; {len(paid)} were paid {sum(paid.values()) / 1e6:f}"


if __name__ == "__main__":
    print(check(*sys.argv[1:4], *map(int, sys.argv[4:])))
