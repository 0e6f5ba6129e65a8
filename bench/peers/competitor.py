"""A competitor in its own process, driven by one line of JSON per request (worker.cc, worker.py)."""
import json
import os
import selectors
import subprocess
import tempfile

PATIENCE = 300  # seconds for one reply, before a competitor counts as stuck


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
