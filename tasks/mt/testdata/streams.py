"""Writes streams.json: what CPython's random.Random yields for some seeds."""
import json
import random

SEEDS = (
    [0, 1, 42, -7, 2**32 - 1, 2**32, 2**40 + 5, 2**63 - 1, -(2**63)]
    + ["", "42:b", "42:if_node_order", "\0a", "ziège", "42:rules:" + "x" * 3000]
    + [0.0, 2.0**-53, 0.5, 0.6394267984578837, 1 - 2.0**-53]
)


def kind(seed):
    return {int: "integer", str: "text", float: "real"}[type(seed)]


def record(seed):
    r = random.Random(seed)
    shuffled = list(range(30))
    out = {"kind": kind(seed), "seed": seed if isinstance(seed, str) else repr(seed)}
    out["random"] = [r.random() for _ in range(3)]
    out["bits"] = [r.getrandbits(k) for k in range(1, 33)]
    out["bits128"] = "%032x" % r.getrandbits(128)
    out["below"] = [r.randrange(n) for n in range(1, 70)]
    out["between"] = [r.randint(-1, 6) for _ in range(10)]
    out["choice"] = [r.choice("abcdefg") for _ in range(10)]
    out["uniform"] = [r.uniform(0.45, 0.55), r.uniform(0.9, 0.9), r.uniform(-3, 7)]
    r.shuffle(shuffled)
    out["shuffled"] = shuffled
    # From a pool, with rejection, and with the limit that depends on k.
    out["samples"] = [
        {"n": n, "k": k, "drawn": r.sample(range(n), k)}
        for n, k in [(1, 0), (1, 1), (5, 5), (21, 3), (22, 3), (26, 1), (85, 6), (86, 6), (400, 40)]
    ]
    for _ in range(700):  # past the next refill of the state
        r.getrandbits(32)
    out["last"] = r.random()
    return out


if __name__ == "__main__":
    with open("streams.json", "w") as f:
        json.dump([record(s) for s in SEEDS], f, indent=0)
        f.write("\n")
