"""A competitor in its own process, driven by one line of JSON per request (worker.cc, worker.py)."""
import json
import os
import pathlib
import selectors
import subprocess
import tempfile
import time

PATIENCE = 300  # seconds for one reply, before a competitor counts as stuck
SPINNING = 1.0  # seconds that its threads are given to fall asleep
LOOK = 0.002  # seconds between two looks at them


class Gone(Exception):
    """The process ended, or never started; says why."""


class Competitor:
    def __init__(self, title, command, environment=None):
        self.title = title
        self.errors = tempfile.TemporaryFile()
        self.absent = None  # why it takes no part at all
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                env={**os.environ, **(environment or {})})
        except OSError as error:
            self.process = None
            self.absent = str(error)

    def ask(self, **request):
        """The reply, a dict; raises Gone once the process is no more."""
        if self.absent:
            raise Gone(self.absent)
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            reply = self._line()
        except BrokenPipeError:
            reply = b""
        if not reply:
            self.absent = self._last_words()
            self.close()
            raise Gone(self.absent)
        return json.loads(reply)

    def place(self, cores):
        """Its main thread, which does the work of one thread, runs on these cores from now on."""
        if self.process and hasattr(os, "sched_setaffinity"):
            try:
                os.sched_setaffinity(self.process.pid, cores)
            except ProcessLookupError:  # ask() will tell
                pass

    def settle(self):
        """Returns once no thread of it runs any more.

        Pools keep their threads spinning for a while in case more work comes, ONNX Runtime's for some
        70 ms: on the cores of the one whose turn is next.
        """
        end = time.monotonic() + SPINNING
        while self.process and self._runs() and time.monotonic() < end:
            time.sleep(LOOK)

    def _runs(self):
        """Whether some thread runs or waits for a core; where that cannot be seen, it is assumed."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        if not tasks.exists():
            return True
        for stat in tasks.glob("*/stat"):
            try:
                if stat.read_text().rpartition(")")[2].split()[0] == "R":
                    return True
            except OSError:  # it ended meanwhile
                pass
        return False

    def _line(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                return b""
        return self.process.stdout.readline()

    def _last_words(self):
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "stopped without a word"

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
