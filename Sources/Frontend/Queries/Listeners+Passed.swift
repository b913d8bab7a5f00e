// SPDX-License-Identifier: Apache-2.0
package import Net

// MARK: - Sockets from systemd

extension Listeners {
    /// Adopts the sockets that systemd bound to `address`; binds a socket for a missing transport.
    package init(
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
                    throw .unusable(name: socket.name, why: "is a second TCP socket for \(address)")
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
            // Each socket needs a worker.
            datagrams = (0..<max(workers, adopted.count)).map { adopted[$0 % adopted.count] }
        }
    }
}
