# SPDX-License-Identifier: Apache-2.0
"""Programs that are started, measured, and ended by their process IDs."""
import contextlib
import glob
import os
import subprocess
import threading


class Failure(Exception):
    """A measurement failed; the text has the reason."""


class Program:
    """A started program and its resource use; this object ends the program by its process ID."""

    def __init__(self, command, says, cpu=None, environment=None, descriptors=()):
        self.process = subprocess.Popen(
            pinned(command, cpu),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(environment or {})},
            pass_fds=descriptors,
        )
        self.said = ""
        self.lines = []
        while says and says not in self.said:
            self.said = self.process.stdout.readline()
            self.lines.append(self.said)
            if not self.said:
                self.stop()
                raise Failure(f"{command[0]} did not start: {self.text()}")
        # A full pipe would block the program.
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        for line in self.process.stdout:
            if len(self.lines) < 100:
                self.lines.append(line)

    def text(self):
        return "".join(self.lines)

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def pids(self):
        found, new = [], [self.process.pid]
        while new:
            pid = new.pop()
            found.append(pid)
            for path in glob.glob(f"/proc/{pid}/task/*/children"):
                with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                    new += map(int, file.read().split())
        return found

    def cpu(self):
        """Returns the processor time of all threads in microseconds."""
        total = 0
        for pid in self.pids:
            for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                    total += int(file.read().split()[0])
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            ended = file.read().rsplit(")", 1)[1].split()[13:15]
        return total / 1e3 + sum(map(int, ended)) * 1e6 / os.sysconf("SC_CLK_TCK")

    def memory(self):
        resident = anonymous = 0
        for pid in self.pids:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                for line in file:
                    name, _, rest = line.partition(":")
                    if name == "Rss":
                        resident += int(rest.split()[0]) << 10
                    elif name == "Anonymous":
                        anonymous += int(rest.split()[0]) << 10
        return {"resident": resident, "anonymous": anonymous}


def pinned(command, cpu):
    return command if cpu is None else ["taskset", "-c", str(cpu), *command]
