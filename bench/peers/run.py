#!/usr/bin/env python3
"""heed beside its peers on the named shapes, in one interleaved run on this machine.

    bench/peers/run.py --worker build-bench/heed_bench_worker --python build-peers/venv/bin/python

Every competitor is a process of its own that holds the same inputs; they take turns of a twentieth of a
second, round after round, each beginning when the threads of the one before are asleep, and the best
run of each counts. Every answer is checked against heed's, and heed's against the oracle. Prints a
table, and replaces the one in docs/performance.md. `make bench-peers` builds and installs what this
needs.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile

import report
from competitor import Competitor, Gone

FOLDER = pathlib.Path(__file__).resolve().parent
TURN = 0.05  # seconds: short against the time for which a shared machine is slow, so that all see both
# A way to compute that is this much slower than the best of its competitor is not tried again.
HOPELESS = 3.0
# Half the distance from 1 to the next number of a type.
EPSILON = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


def start_competitors(arguments):
    """All of them, heed first. Threads are set by each competitor, not by the environment."""
    native = [Competitor(title, [arguments.worker, name])
              for title, name in (("heed", "heed"), ("OpenBLAS", "openblas"), ("Eigen", "eigen"))]
    scripted = [Competitor(title, [arguments.python, str(FOLDER / script)])
                for title, script in (("ONNX Runtime", "onnx_runtime.py"), ("PyTorch", "pytorch.py"))]
    return [native[0], *scripted, *native[1:]]


def cores_of_round(number, threads):
    """All cores, or as many as there are threads: others in the next round, for on a shared machine one
    core may be slower than the next for a long time."""
    if not hasattr(os, "sched_getaffinity"):
        return set()
    cores = sorted(os.sched_getaffinity(0))
    return {cores[(number + n) % len(cores)] for n in range(threads)}


class Race:
    """One shape: every competitor loaded with it, timed in turns, and checked."""

    def __init__(self, shape, competitors, arguments):
        self.shape, self.arguments = shape, arguments
        self.heed, *self.peers = competitors
        self.times = {}  # (competitor, variant, threads) -> milliseconds
        self.versions, self.absent = {}, {}  # by title

    def run(self):
        with tempfile.TemporaryDirectory(dir=self.arguments.scratch) as folder:
            loaded = [(self.heed, self._load(self.heed, shape=self.shape["label"], export=folder))]
            for peer in self.peers:
                request = {"shape": self.shape, "folder": folder}
                if peer.title in ("OpenBLAS", "Eigen"):
                    request = {"shape": self.shape["label"]}
                loaded.append((peer, self._load(peer, **request)))
        entrants = [(c, variant) for c, variants in loaded for variant in variants]
        rounds = 0
        while rounds < self.arguments.rounds or self._measured() < self.arguments.seconds:
            first = rounds % len(entrants)  # nobody always comes after the same one
            for threads in self.arguments.threads:
                for competitor, variant in entrants[first:] + entrants[:first]:
                    competitor.place(cores_of_round(rounds, threads))
                    self._turn(competitor, variant, threads)
            rounds += 1
        return [self._row(threads) for threads in self.arguments.threads]

    def _measured(self):
        """Seconds for which heed has run, at the thread count at which it has run least."""
        return min(sum(times) for (title, _, _), times in self.times.items()
                   if title == self.heed.title) / 1e3

    def _load(self, competitor, **request):
        """The variants that take part."""
        reply = self._ask(competitor, op="load", **request)
        if "version" in reply:
            self.versions[competitor.title] = reply["version"]
        if competitor is self.heed:
            self.allowed_error = self._allowed_error(reply)
        return reply.get("variants", [])

    def _ask(self, competitor, **request):
        try:
            reply = competitor.ask(**request)
        except Gone as reason:
            reply = {"absent": str(reason)}
        why = reply.get("absent") or reply.get("failed")
        if why:
            if competitor is self.heed:
                raise SystemExit(f"heed on {self.shape['label']}: {why}")
            variant = request.get("variant")
            self.absent[competitor.title] = f"{variant}: {why}" if variant else why
        return reply

    def _turn(self, competitor, variant, threads):
        times = self.times.setdefault((competitor.title, variant, threads), [])
        rivals = [min(t) for (title, _, n), t in self.times.items()
                  if t and title == competitor.title and n == threads]
        if times and min(times) > HOPELESS * min(rivals):
            return
        reply = self._ask(competitor, op="run", variant=variant, threads=threads, runs=1, seconds=TURN)
        times += reply.get("ms", [])
        competitor.settle()

    def _error(self, competitor, variant):
        return self._ask(competitor, op="check", variant=variant).get("error", math.inf)

    def _row(self, threads):
        """The best variant of each competitor, with its answer checked."""
        row = {"shape": self.shape["label"], "threads": threads, "competitors": {}}
        for competitor in (self.heed, *self.peers):
            title = competitor.title
            ways = {variant: times for (name, variant, n), times in self.times.items()
                    if name == title and n == threads and times}
            if not ways:
                row["competitors"][title] = {"absent": self.absent.get(title, "not measured")}
                continue
            variant = min(ways, key=lambda way: min(ways[way]))
            row["competitors"][title] = {
                "version": self.versions[title], "variant": variant, "runs": len(ways[variant]),
                "ms_best": min(ways[variant]), "ms_median": statistics.median(ways[variant]),
                "max_error": self._error(competitor, variant)}
            entry = row["competitors"][title]
            entry["right"] = entry["max_error"] <= self.allowed_error
        return row

    def _allowed_error(self, reply):
        # A few roundings in the stored type, and the arithmetic of float. Its error is known on the
        # sampled rows; over all rows, and with another order of sums, it may be a few times larger.
        return (8 * EPSILON[self.shape["dtype"]] * reply["largest_output"] +
                8 * reply["plain_error"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", required=True, help="the program heed_bench_worker")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers")
    parser.add_argument("--shapes", default="", help="names, for example P1,D2-f16; default: all")
    parser.add_argument("--threads", default="1,2", help="thread counts, default 1,2")
    parser.add_argument("--seconds", type=float, default=0.6,
                        help="for each competitor, shape and thread count, at least; default 0.6")
    parser.add_argument("--rounds", type=int, default=4, help="turns it is spread over, at least; default 4")
    parser.add_argument("--scratch", default=None, help="folder for the inputs while they are passed")
    parser.add_argument("--results", required=True,
                        help="JSON file; rows measured now replace those it has")
    parser.add_argument("--docs", default=None, help="Markdown file whose table is replaced")
    arguments = parser.parse_args()
    arguments.threads = [int(n) for n in arguments.threads.split(",")]
    page = pathlib.Path(arguments.docs) if arguments.docs else None

    competitors = start_competitors(arguments)
    try:
        names = [name for name in arguments.shapes.split(",") if name]
        reply = competitors[0].ask(op="shapes", names=names)
        if "failed" in reply:
            raise SystemExit(reply["failed"])
        rows = []
        for number, shape in enumerate(reply["shapes"]):
            measured = Race(shape, competitors, arguments).run()
            rows = report.merge(pathlib.Path(arguments.results), measured)  # a stop loses nothing
            print(report.text_lines(measured, header=number == 0), flush=True)
    finally:
        for competitor in competitors:
            competitor.close()
    print(report.summary(rows))
    if page:
        report.write_docs(page, rows)
    wrong = [row for row in rows for entry in row["competitors"].values() if not entry.get("right", True)]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
