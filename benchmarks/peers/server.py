"""Run one peer: ``python server.py NAME`` reads requests and writes replies, as lines of JSON.

The requests are those of heliotrope.lab.league.commands. Run as a script by the Python of
the peers' environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np

from adapters import PEERS, Peer, Told


def main(name: str) -> None:
    """Answer until there are no more requests."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # keeps printed output of packages out of the replies
    warnings.simplefilter("ignore")
    peer: Peer | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "begin" in request:
                peer, reply = _begun(name, **request["begin"]), {}
            else:
                assert peer is not None
                reply = _answered(peer, request)
        except Exception as error:  # the report of the league shows it
            first = str(error).partition("\n")[0]
            reply = {"error": f"{type(error).__name__}: {first}"}
        replies.write(json.dumps(reply | {"spent": time.process_time()}) + "\n")


def _begun(name: str, lower: list[float], upper: list[float], seed: int) -> Peer:
    import torch

    torch.set_num_threads(1)
    return PEERS[name](np.array(lower), np.array(upper), seed)


def _answered(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    if "tell" in request:
        peer.tell([Told(**one) for one in request["tell"]])
        return {}
    return {"x": [float(value) for value in peer.ask(request["ask"])]}


if __name__ == "__main__":
    main(sys.argv[1])
