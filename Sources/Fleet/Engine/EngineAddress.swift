// SPDX-License-Identifier: Apache-2.0
package import Net

/// Addresses of the Redis servers, credentials, and a function that connects.
package struct EngineAccess: Sendable {
    package enum Place: Sendable, Hashable {
        case servers([SocketAddress])

        case sentinels([SocketAddress], master: String)
    }

    package typealias Opening =
        @Sendable @ServiceLoop (SocketAddress, Instant) async throws(EngineError) ->
        any OctetStream

    package var place: Place
    package var user: String?

    /// Nil if Redis needs no password.
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

    /// Returns a function that opens connections; with TLS, the certificate must match `tlsName`.
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

    var authentication: [UInt8]? {
        guard let password else { return nil }
        let words = ["AUTH"] + (user.map { [$0] } ?? [])
        return RedisCodec.command(words.map { Array($0.utf8) } + [password()])
    }
}
