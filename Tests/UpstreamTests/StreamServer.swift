// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

/// A DNS server over TCP that does with each connection what its script says.
@ServiceLoop
final class StreamServer {
    /// One connection that was accepted, and its number.
    @ServiceLoop
    final class Client {
        let number: Int
        private let stream: StreamConnection
        private var inbox: [UInt8] = []

        fileprivate init(_ number: Int, _ stream: StreamConnection) {
            self.number = number
            self.stream = stream
        }

        /// The next query; nil when the client is done.
        func next() async -> [UInt8]? {
            while true {
                if inbox.count >= 2 {
                    let count = Int(inbox[0]) << 8 | Int(inbox[1])
                    if inbox.count >= 2 + count {
                        defer { inbox.removeFirst(2 + count) }
                        return Array(inbox[2..<(2 + count)])
                    }
                }
                let more = try? await stream.read(upTo: 65_535, deadline: Clock.now + .seconds(30))
                guard let more, !more.isEmpty else { return nil }
                inbox += more
            }
        }

        /// Writes octets as they are.
        func write(_ octets: [UInt8]) async {
            try? await stream.write(octets, deadline: Clock.now + .seconds(30))
        }

        /// Closes the connection.
        func close() { stream.close() }
    }

    let address: SocketAddress
    private let listener: StreamListener

    /// How many connections there were.
    private(set) var connections = 0

    /// Starts one.
    init(_ script: @escaping @Sendable @ServiceLoop (Client) async -> Void) throws {
        listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        address = try #require(listener.localAddress)
        ServiceLoop.task { [listener] in
            while let stream = try? await listener.accept() {
                let client = Client(self.connections, stream)
                self.connections += 1
                ServiceLoop.task {
                    await script(client)
                    client.close()
                }
            }
        }
    }

    /// Stops listening.
    func stop() { listener.close() }
}
