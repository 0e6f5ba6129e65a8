#!/usr/bin/env python3
"""What a call from Python costs: attention of one query over one key of one number, in microseconds.

    PYTHONPATH=build/python /usr/bin/python3 bench/python/call_overhead.py

The problem itself is a multiplication, so all of it is overhead. Best and median of many rounds,
with NumPy's matmul of the same arrays beside it. Exit 1 if the median is above --limit.
"""
import argparse
import statistics
import time

import numpy as np

import heed


def microseconds(call, rounds=200, calls=200):
    """(best, median) time of a call over `rounds` rounds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls * 1e6)
    return min(times), statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, help="fail if the median is above, in microseconds")
    limit = parser.parse_args().limit
    x = np.ones((1, 1), np.float32)
    out = np.empty_like(x)
    assert heed.attention(x, x, x) == x
    print(f"{'call':<34} {'best':>8} {'median':>8}   µs")
    measured = {}
    for name, call in {
            "heed.attention(q, k, v)": lambda: heed.attention(x, x, x),
            "heed.attention(q, k, v, out=out)": lambda: heed.attention(x, x, x, out=out),
            "numpy: q @ k": lambda: x @ x}.items():
        measured[name] = best, median = microseconds(call)
        print(f"{name:<34} {best:>8.2f} {median:>8.2f}")
    median = measured["heed.attention(q, k, v)"][1]
    if limit is not None and median > limit:
        raise SystemExit(f"call_overhead.py: the median is {median:.2f} µs, above {limit} µs")


if __name__ == "__main__":
    main()
