// SPDX-License-Identifier: Apache-2.0
internal import Net

// MARK: - Sockets from systemd

extension Listeners {
    /// Takes over the sockets that systemd has bound to `address`, and binds what is missing.
    ///
    /// Workers share the UDP sockets.  One is enough, and all that a restart leaves in it is kept.
    /// With as many as there are workers (ReusePort=yes) the kernel spreads clients over them.
    init(
        adopting sockets: [PassedSocket],
        at address: SocketAddress,
        workers: Int
    ) throws(SocketError) {
        var stream: StreamListener?
        var adopted: [DatagramListener] = []
        for socket in sockets {
            switch socket.transport {
            case .datagrams:
                adopted.append(try DatagramListener(adopting: socket))
            case .streams:
                guard stream == nil else {
                    throw .unusable(name: socket.name, why: "is the second for TCP at \(address)")
                }
                stream = try StreamListener(adopting: socket)
            }
        }
        self.address = address
        if let stream {
            self.stream = stream
        } else {
            self.stream = try StreamListener(binding: address)
        }
        isPassed = true
        if adopted.isEmpty {
            var bound: [DatagramListener] = []
            for _ in 0..<workers {
                bound.append(try DatagramListener(binding: address, shared: workers > 1))
            }
            datagrams = bound
        } else {
            // Each socket has a reader, even if there are more of them than processors.
            datagrams = (0..<max(workers, adopted.count)).map { adopted[$0 % adopted.count] }
        }
    }
}
