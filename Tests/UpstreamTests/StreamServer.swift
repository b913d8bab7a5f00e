// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@ServiceLoop
final class StreamServer {
    @ServiceLoop
    final class Client {
        let number: Int
        private let stream: StreamConnection
        private var inbox: [UInt8] = []

        fileprivate init(_ number: Int, _ stream: StreamConnection) {
            self.number = number
            self.stream = stream
        }

        func next() async -> [UInt8]? {
            while true {
                if inbox.count >= 2 {
                    let count = Int(inbox[0]) << 8 | Int(inbox[1])
                    if inbox.count >= 2 + count {
                        defer { inbox.removeFirst(2 + count) }
                        return Array(inbox[2..<(2 + count)])
                    }
                }
                let more = try? await stream.read(upTo: 65_535, deadline: Clock.now + .seconds(300))
                guard let more, !more.isEmpty else { return nil }
                inbox += more
            }
        }

        func write(_ octets: [UInt8]) async {
            try? await stream.write(octets, deadline: Clock.now + .seconds(300))
        }

        func close() { stream.close() }
    }

    let address: SocketAddress
    private let listener: StreamListener

    private(set) var connections = 0

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

    func stop() { listener.close() }
}
