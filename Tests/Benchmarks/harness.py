# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the benchmarks: the build, a temporary directory, and programs started in it."""
import contextlib
import glob
import http.client
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from programs import Failure, Program, pinned

FLAGS = ["-c", "release", "--static-swift-stdlib", "--disable-local-rpath"]


class Bench:
    """A temporary directory and all started processes; at its end, stops the processes and removes the directory."""

    def __init__(self, root, options, is_built=False):
        self.root = root
        self.is_built = is_built
        self.stack = contextlib.ExitStack()
        self.scratch = None
        self.options = options

    def __enter__(self):
        self.scratch = tempfile.mkdtemp(prefix="hb-")
        self.stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
        try:
            self.bin = self.options.bin or self._build()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _build(self):
        if not self.options.no_build and not self.is_built:
            setup = [os.path.join(self.root, "scripts", "setup"), "--bench"]
            if subprocess.run(setup, stdout=sys.stderr).returncode != 0:
                raise Failure("what is missing cannot be installed")
            for product in ["httpdnsd", "httpdnsctl", "httpdns-emulator"]:
                self._swift_build(product)
        done = subprocess.run(
            ["swift", "build", *FLAGS, "--show-bin-path"],
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise Failure(done.stderr)
        return done.stdout.strip()

    def micro(self):
        if not self.options.no_build:
            self._swift_build("micro", {**os.environ, "HTTPDNSD_BENCH": "1"})
        return self.product("micro")

    def _swift_build(self, product, environment=None):
        say(f"building {product}")
        command = ["swift", "build", *FLAGS, "--product", product]
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def tool(self, name, *flags):
        path = self.path(name)
        if not os.path.exists(path):
            source = os.path.join(self.root, "Tests", "Benchmarks", name + ".c")
            command = ["cc", "-O2", "-o", path, source, *flags]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(done.stderr)
        return path

    def product(self, name):
        path = os.path.join(self.bin, name)
        if not os.access(path, os.X_OK):
            raise Failure(f"there is no {path}")
        return path

    def path(self, name):
        return os.path.join(self.scratch, name)

    def directory(self, name):
        return tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def start(self, command, says, cpu=None, **more):
        program = Program(command, says, cpu, **more)
        self.stack.callback(program.stop)
        return program

    def serve(self, command, port, question, cpu=None, within=30):
        program = Program(command, None, cpu)
        self.stack.callback(program.stop)
        program.port = port
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.1)
            client.connect(("127.0.0.1", port))
            until = time.monotonic() + within
            while time.monotonic() < until:
                with contextlib.suppress(ConnectionError, TimeoutError):
                    client.send(question)
                    reply = client.recv(4096)
                    if reply[:2] == question[:2] and reply[3] & 15 == 0:
                        return program
                with contextlib.suppress(subprocess.TimeoutExpired):
                    program.process.wait(0.02)
                    break
        program.stop()
        raise Failure(f"{command[0]} does not answer: {program.text()[-1000:]}")

    def run(self, command, cpu=None, within=300):
        try:
            done = subprocess.run(
                pinned(command, cpu), capture_output=True, text=True, timeout=within
            )
        except subprocess.TimeoutExpired:
            raise Failure(f"{command[0]}: no end after {within} s") from None
        if done.returncode != 0 or done.stderr:
            raise Failure(f"{command[0]}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def daemon(self, settings, cpu=None, program=None, accelerate="off", environment=None):
        """Kernel acceleration is off by default, because the benchmarks measure the daemon."""
        number = len(glob.glob(self.path("daemon*.yaml")))
        control = self.path(f"control{number}.sock")
        file = self.write(
            f"daemon{number}.yaml",
            f'listen: ["127.0.0.1:0"]\ncontrol: {{socket: {control}, mode: "0600"}}\n'
            f"accelerate: {{loopback: {accelerate}}}\n" + settings,
        )
        command = [*(program or [self.product("httpdnsd")]), "--config", file]
        program = self.start(command, "answering on ", cpu, environment=environment)
        program.port = int(re.search(r"answering on [0-9.]+:(\d+)", program.said)[1])
        program.control = control
        return program

    def control(self, daemon, *verb):
        """A degraded state is not a failure."""
        command = [self.product("httpdnsctl"), "--socket", daemon.control, "--json", *verb]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        if done.returncode not in (0, 4):
            raise Failure(done.stderr)
        return json.loads(done.stdout)

    def emulator(self, address, zone, faults=()):
        number = len(glob.glob(self.path("*.zone")))
        file = self.write(f"{number}.zone", zone)
        command = [self.product("httpdns-emulator"), "--listen", address, "--zone", file]
        program = self.start(
            command + [word for fault in faults for word in ("--fault", fault)], "listening on "
        )
        program.address = program.said.split("listening on ")[1].strip()
        return program

    def certificates(self, names):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        authority = self.path("ca.pem")
        extensions = self.write("names.ext", f"subjectAltName={names}\n")
        for command in [
            ["req", "-x509", "-days", "2", "-subj", "/CN=Benchmark authority", *key,
             "-keyout", self.path("ca.key"), "-out", authority],
            ["req", "-subj", "/CN=vendor", *key,
             "-keyout", self.path("site.key"), "-out", self.path("site.csr")],
            ["x509", "-req", "-days", "2", "-in", self.path("site.csr"), "-CA", authority,
             "-CAkey", self.path("ca.key"), "-CAcreateserial", "-extfile", extensions,
             "-out", self.path("site.pem")],
        ]:
            done = subprocess.run(["openssl", *command], capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(done.stderr)
        return authority, self.path("site.pem"), self.path("site.key")

    def nginx(self, content, names, cpu=None):
        authority, chain, key = self.certificates(names)
        sockets = [listening(), listening()]
        ports = [each.getsockname()[1] for each in sockets]
        file = self.write("nginx.conf", NGINX.format(
            user="user root;" if os.getuid() == 0 else "",
            ports=ports, chain=chain, key=key, content=content,
        ))
        # With inherited sockets, no other program can take the port.
        program = self.start(
            ["nginx", "-p", self.scratch, "-c", file, "-e", "stderr"],
            "start worker process ",
            cpu,
            environment={"NGINX": "".join(f"{each.fileno()};" for each in sockets)},
            descriptors=[each.fileno() for each in sockets],
        )
        for each in sockets:
            each.close()
        program.port, program.authority = ports[0], authority
        program.page = http.client.HTTPConnection("127.0.0.1", ports[1])
        return program

    def machine(self):
        def first(command, pattern="(.*)"):
            try:
                done = subprocess.run(command, capture_output=True, text=True, cwd=self.root)
            except OSError:
                return ""
            found = re.search(pattern, done.stdout + done.stderr)
            return found[1] if found else ""

        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"model name\s*: (.*)", file.read())
        return {
            "processor": model[1] if model else platform.machine(),
            "cores": os.cpu_count(),
            "kernel": platform.release(),
            "commit": first(["git", "describe", "--always", "--dirty"]),
            "libcurl": first(["curl", "--version"], r"(libcurl/.*)"),
            "versions": {
                name: first(command, pattern) for name, (command, pattern) in VERSIONS.items()
            },
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


VERSIONS = {
    "system": (["cat", "/etc/os-release"], r'PRETTY_NAME="(.*)"'),
    "swift": (["swift", "--version"], r"Swift version (\S+)"),
    "nginx": (["nginx", "-v"], r"nginx/(\S+)"),
    "unbound": (["unbound", "-V"], r"Version (\S+)"),
    "dnsdist": (["dnsdist", "--version"], r"dnsdist (\S+)"),
    "dnsmasq": (["dnsmasq", "--version"], r"Dnsmasq version (\S+)"),
    "smartdns": (["smartdns", "-v"], r"smartdns (\S+)"),
    "nsd": (["nsd", "-v"], r"NSD version (\S+)"),
    "valgrind": (["valgrind", "--version"], r"valgrind-(\S+)"),
}

NGINX = """
{user}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr notice;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    http2_max_concurrent_streams 256;
    ssl_certificate {chain};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    server {{
        listen 127.0.0.1:{ports[0]} ssl http2;
        {content}
    }}
    server {{
        listen 127.0.0.1:{ports[1]};
        location / {{ stub_status; }}
    }}
}}
"""


def accepted(nginx):
    """All status requests use one connection."""
    nginx.page.request("GET", "/")
    text = nginx.page.getresponse().read().decode()
    return int(re.search(r"requests\s+(\d+)", text)[1])


def listening():
    made = socket.create_server(("127.0.0.1", 0), backlog=1024)
    return made


def free_port():
    for _ in range(100):
        with listening() as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            port = stream.getsockname()[1]
            with contextlib.suppress(OSError):
                datagrams.bind(("127.0.0.1", port))
                return port
    raise Failure("there is no free port")


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)
