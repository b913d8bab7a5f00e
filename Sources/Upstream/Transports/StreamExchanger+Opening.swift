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
}
