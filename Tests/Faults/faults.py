# SPDX-License-Identifier: Apache-2.0
"""The faults: begin, end, and the time limit for the recovery."""
import contextlib
import dataclasses
import glob
import os
import resource
import signal
import socket
import threading
import typing

import world
from programs import Failure

ALL_SERVERS = ("httpdnsd", "unbound", "dnsmasq")

FLAP = 0.5


def nothing(_):
    """Does nothing."""


@dataclasses.dataclass
class Fault:
    name: str
    title: str
    begins: typing.Callable
    ends: typing.Callable = nothing
    # Permitted seconds from the end of the fault until all names are answered, and until the vendor answers again.
    within: float = 1.0
    vendor_within: float = 1.0
    servers: tuple = ("httpdnsd",)
    # True if the process of the server cannot answer during the fault.
    is_absence: bool = False
    preload: bool = False
    holds: bool = False
    scheme: str = "udp"
    lasts: typing.Optional[float] = None


def vendor(name, title, fault, **more):
    return Fault(
        f"vendor-{name}", f"vendor {title}",
        lambda server: server.world.vendor(fault), lambda server: server.world.vendor(""), **more,
    )


def upstream(name, title, fault, **more):
    return Fault(
        f"upstream-{name}", f"upstream {title}",
        lambda server: server.world.upstream(fault), lambda server: server.world.upstream("well"),
        servers=ALL_SERVERS, **more,
    )


def front(scheme, name, title, begins, ends):
    return Fault(
        f"{scheme}-{name}", f"upstream over {scheme.upper()} {title}", begins, ends,
        scheme=scheme, within=2,
    )


def fronts(scheme):
    return [
        front(scheme, "silent", "is silent",
              lambda server: server.world.signal_front(signal.SIGSTOP),
              lambda server: server.world.signal_front(signal.SIGCONT)),
        front(scheme, "gone", "closes its connections, and disappears",
              lambda server: server.world.signal_front(signal.SIGKILL),
              lambda server: server.world.start_front()),
    ]


class Flapping:
    """A component that alternates between two states."""

    def __init__(self):
        self.over, self.thread = threading.Event(), None

    def begin(self, server):
        self.over.clear()

        def turn():
            is_silent = True
            server.world.vendor("silent")
            while not self.over.wait(FLAP):
                is_silent = not is_silent
                server.world.vendor("silent" if is_silent else "")

        self.thread = threading.Thread(target=turn, daemon=True)
        self.thread.start()

    def end(self, server):
        self.over.set()
        self.thread.join()
        server.world.vendor("")


def everything_silent(server):
    server.world.vendor("silent")
    server.world.upstream("silent")


def change_address(server):
    """Connections from the old address break without an error."""
    del server
    world.run("ip", "address", "del", f"{world.MACHINE}/24", "dev", "cable")
    world.run("ip", "address", "add", f"{world.OTHER_MACHINE}/24", "dev", "cable")


def restore_address(server):
    del server
    world.run("ip", "address", "del", f"{world.OTHER_MACHINE}/24", "dev", "cable")
    world.run("ip", "address", "add", f"{world.MACHINE}/24", "dev", "cable")


def link(state):
    return lambda _: world.run("ip", "link", "set", "cable", state)


# The clocks jump by five minutes, the interval at which the daemon writes a snapshot.

def write_snapshot(server):
    server.clocks.jump(wall=301, monotonic=301, boot=301)


def fill_disk(server):
    world.run("mount", "-t", "tmpfs", "-o", "size=64k", "none", server.disk)
    with contextlib.suppress(OSError), open(os.path.join(server.disk, "full"), "wb", 0) as file:
        while True:
            file.write(bytes(4096))
    write_snapshot(server)


def empty_disk(server):
    os.remove(os.path.join(server.disk, "full"))
    world.run("mount", "-o", "remount,size=64m", server.disk)
    write_snapshot(server)


def lock_disk(server):
    world.run("mount", "-t", "tmpfs", "-o", "ro", "none", server.disk)
    write_snapshot(server)


def unlock_disk(server):
    world.run("mount", "-o", "remount,rw", server.disk)
    write_snapshot(server)


class Descriptors:
    """Lowers the limit of file descriptors while clients connect over TCP, so that no descriptor is free."""

    def __init__(self):
        self.old, self.clients = None, []

    def begin(self, server):
        used = len(glob.glob(f"/proc/{server.pid}/fd/*"))
        self.old = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used, self.old[1]))
        for _ in range(50):
            made = socket.socket()
            made.setblocking(False)
            made.connect_ex(("127.0.0.1", world.PORT))
            self.clients.append(made)

    def end(self, server):
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, self.old)
        for each in self.clients:
            each.close()
        self.clients.clear()


class Memory:
    """A control group with little memory for new allocations."""

    # Octets that the process can allocate in the new group; memory that it has already allocated
    # stays charged to the previous group.
    MORE = 2 << 20

    def __init__(self):
        self.group = None

    def begin(self, server):
        is_old = os.path.isdir("/sys/fs/cgroup/memory")
        base = "/sys/fs/cgroup/memory" if is_old else "/sys/fs/cgroup"
        self.group = os.path.join(base, f"httpdnsd-faults-{os.getpid()}")
        try:
            os.mkdir(self.group)
            self._write("cgroup.procs", server.pid)
            self._write("memory.limit_in_bytes" if is_old else "memory.max", self.MORE)
        except OSError as error:
            self.end(server)
            raise Failure(f"no control group for memory: {error}") from None

    def _write(self, name, value):
        with open(os.path.join(self.group, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def end(self, server):
        with contextlib.suppress(OSError):
            parent = os.path.join(os.path.dirname(self.group), "cgroup.procs")
            with open(parent, "w", encoding="ascii") as file:
                file.write(str(server.pid))
        with contextlib.suppress(OSError):
            os.rmdir(self.group)


def send(number):
    return lambda server: os.kill(server.pid, number)


def suspend(server):
    os.kill(server.pid, signal.SIGSTOP)


def resume(server):
    server.clocks.jump(wall=3600, boot=3600)
    os.kill(server.pid, signal.SIGCONT)


descriptors, memory, flapping = Descriptors(), Memory(), Flapping()

FAULTS = [
    vendor("silent", "is silent", "silent", vendor_within=5),
    vendor("slow", "answers after 1.5 s", "delay=1500", vendor_within=5),
    vendor("reset", "resets connections", "reset", vendor_within=5),
    vendor("wrong", "returns addresses of other names", "wrong-name", vendor_within=5),
    vendor("garbled", "sends replies that cannot be decrypted", "wrong-key", vendor_within=5),
    vendor("429", "returns 429", "status=429", vendor_within=5),
    Fault("vendor-flapping", "vendor silent every other half second",
          flapping.begin, flapping.end, vendor_within=5),
    upstream("silent", "is silent", "silent", within=2),
    upstream("slow", "answers after 1.5 s", "slow", within=2),
    upstream("servfail", "returns SERVFAIL", "servfail", within=2),
    upstream("wrong-id", "answers with other IDs", "wrong-id", within=2),
    upstream("refuses", "refuses connections", "refuses", within=2),
    *fronts("tcp"),
    *fronts("tls"),
    Fault("everything-silent", "vendor and upstream are silent",
          everything_silent, lambda server: server.world.well(), within=2, vendor_within=5),
    Fault("clock-forward", "wall clock an hour forward",
          lambda server: server.clocks.jump(wall=3600), preload=True, servers=ALL_SERVERS),
    Fault("clock-back", "wall clock an hour back",
          lambda server: server.clocks.jump(wall=-3600), preload=True, servers=ALL_SERVERS),
    Fault("address", "network address changes", change_address, restore_address,
          servers=ALL_SERVERS),
    Fault("link", "network link is down", link("down"), link("up"),
          within=2, vendor_within=5, servers=ALL_SERVERS),
    Fault("disk-full", "disk is full", fill_disk, empty_disk, preload=True),
    Fault("disk-read-only", "disk is read-only", lock_disk, unlock_disk, preload=True),
    Fault("descriptors", "no file descriptor is free", descriptors.begin, descriptors.end,
          within=2, vendor_within=5, servers=ALL_SERVERS),
    Fault("memory", "2 MiB of memory are free", memory.begin, memory.end, servers=ALL_SERVERS),
    Fault("stopped", "process stopped (SIGSTOP)", send(signal.SIGSTOP), send(signal.SIGCONT),
          is_absence=True, lasts=2, servers=ALL_SERVERS),
    Fault("suspended", "machine asleep for an hour", suspend, resume,
          is_absence=True, preload=True, lasts=1, within=2, vendor_within=5),
    Fault("killed", "process killed, started after 1 s", world.Server.kill, world.Server.start,
          is_absence=True, lasts=world.RESTART_SECONDS, within=2, vendor_within=5,
          servers=ALL_SERVERS),
    Fault("killed-held", "process killed, started after 1 s, with systemd's sockets", world.Server.kill,
          world.Server.start, is_absence=True, holds=True, lasts=world.RESTART_SECONDS, within=2,
          vendor_within=5),
]
