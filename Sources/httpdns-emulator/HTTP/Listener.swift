// SPDX-License-Identifier: Apache-2.0
import FlyingSocks
import Foundation
import Glibc

struct Listener: Sendable {
    private let pool: any AsyncSocketPool
    private let socket: Socket
    let address: String

    init(_ endpoint: Endpoint) async throws {
        let pool: some AsyncSocketPool = SocketPool<Poll>.make(maxEvents: 64)
        try await pool.prepare()
        self.pool = pool
        socket =
            switch endpoint.address.family {
            case .v4: try Self.bound(to: .inet(ip4: endpoint.address.text, port: endpoint.port))
            case .v6: try Self.bound(to: .inet6(ip6: endpoint.address.text, port: endpoint.port))
            }
        address =
            switch try socket.sockname() {
            case .ip4(let text, let port): "\(text):\(port)"
            case .ip6(let text, let port): "[\(text)]:\(port)"
            case .unix(let path): path
            }
    }

    func run(_ emulator: Emulator) async throws {
        let listening = try AsyncSocket(socket: socket, pool: pool)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await pool.run() }
            while true {
                let accepted: AsyncSocket
                do {
                    accepted = try await listening.accept()
                } catch SocketError.failed(_, ECONNABORTED, _) {
                    continue  // The client disconnected before accept (accept(2)).
                }
                guard emulator.connections.open() else {
                    emulator.log(
                        "\(Limits.connections) connections are open, refusing a new connection"
                    )
                    try accepted.close()
                    continue
                }
                group.addTask {
                    await Connection(socket: accepted, emulator: emulator).serve()
                    emulator.connections.close()
                }
            }
        }
    }

    private static func bound(to address: some SocketAddress) throws -> Socket {
        let socket = try Socket(domain: Int32(address.family), type: .stream)
        try socket.setValue(true, for: .localAddressReuse)
        try socket.bind(to: address)
        try socket.listen()
        return socket
    }
}
