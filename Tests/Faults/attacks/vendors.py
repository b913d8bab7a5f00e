# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the attacks on vendors: the emulator, and an on-path attacker."""
import contextlib
import http.server
import os
import subprocess
import threading


class Emulator:
    """httpdns-emulator on its own port; use it as a context manager."""

    def __init__(self, programs, *options):
        self.command = [os.path.join(programs, "httpdns-emulator"), "--listen", "127.0.0.1:0", *options]

    def __enter__(self):

        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def stranger(answer):
    """Runs an HTTP server with replies `answer(path)`: (status, headers, body); yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            reply = answer(self.path)
            if reply is None:
                self.close_connection = True
                return
            status, headers, body = reply
            self.send_response_only(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

        def handle(self):
            with contextlib.suppress(OSError):
                super().handle()

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
