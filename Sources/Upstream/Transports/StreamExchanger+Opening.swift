// SPDX-License-Identifier: Apache-2.0
internal import Net

extension StreamExchanger {
    nonisolated static func connect(
        to server: SocketAddress,
        deadline: Instant
    ) async throws(UpstreamError) -> any OctetStream {
        do throws(SocketError) {
            return try await StreamConnection.connect(to: server, deadline: deadline)
        } catch {
            throw UpstreamError(error)
        }
    }

    nonisolated static func connect(
        to server: SocketAddress,
        name: String,
        _ tls: TLSClient,
        deadline: Instant
    ) async throws(UpstreamError) -> any OctetStream {
        do throws(TLSError) {
            return try await tls.connect(to: server, name: name, deadline: deadline)
        } catch {
            throw UpstreamError(error)
        }
    }

    /// Opens a connection.
    ///
    /// A connection without greeting counts as established before a reply. After the first reply of
    /// the server, each connection has a greeting: one of several hosts behind the server's address
    /// can accept connections and stay silent. The greeting comes first only if another connection
    /// is usable: some servers answer a single query on each connection.
    func connection(greetsFirst: Bool = false) -> PipelinedConnection {
        let isFirst = greetsFirst || current.values.contains { $0.isUsable && $0.wasServed }
        let isGreeted = isFirst || opening.usual != nil
        let connect = self.open
        return PipelinedConnection(
            clocks,
            greeting: isGreeted ? .init(query: greeting, isFirst: isFirst) : nil
        ) { [weak self] (deadline) async throws(UpstreamError) in
            let stream = try await connect(deadline)
            self?.opened += 1
            return stream
        }
    }
}
