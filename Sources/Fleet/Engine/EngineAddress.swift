// SPDX-License-Identifier: Apache-2.0
package import Net

/// Servers of the engine and the way to them.
package struct EngineAccess: Sendable {
    package enum Place: Sendable, Hashable {
        /// Servers in the order in which they are tried.
        case servers([SocketAddress])

        /// Sentinels, which know the address of the master with this name.
        case sentinels([SocketAddress], master: String)
    }

    /// Opens a connection, with TLS if it is on, by the deadline.
    package typealias Opening =
        @Sendable @ServiceLoop (SocketAddress, Instant) async throws(EngineError) ->
        any OctetStream

    package var place: Place
    package var user: String?

    /// Returns the password; nil without one.
    package var password: (@Sendable () -> [UInt8])?

    package var open: Opening

    package init(
        _ place: Place,
        user: String? = nil,
        password: (@Sendable () -> [UInt8])? = nil,
        open: @escaping Opening
    ) {
        self.place = place
        self.user = user
        self.password = password
        self.open = open
    }

    /// Opens TCP connections, or TLS connections that authenticate `tlsName`.
    package static func opening(_ tls: TLSClient?, tlsName: String?) -> Opening {
        { (server, deadline) async throws(EngineError) in
            do throws(TLSError) {
                guard let tls else {
                    do throws(SocketError) {
                        return try await StreamConnection.connect(to: server, deadline: deadline)
                    } catch {
                        throw TLSError.socket(error)
                    }
                }
                return try await tls.connect(
                    to: server,
                    name: tlsName ?? server.host,
                    deadline: deadline
                )
            } catch {
                throw .lost("\(error)")
            }
        }
    }

    /// Command that authenticates; nil without a password.
    var authentication: [UInt8]? {
        guard let password else { return nil }
        let words = ["AUTH"] + (user.map { [$0] } ?? [])
        return RedisCodec.command(words.map { Array($0.utf8) } + [password()])
    }
}
