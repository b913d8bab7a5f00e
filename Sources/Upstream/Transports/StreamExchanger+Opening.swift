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

    /// Time after which a new connection that is not established counts as silent.
    var openingWait: Duration {
        guard let openingTime else { return UpstreamLimits.fairWait }
        let wait = UpstreamLimits.openingWait * (1 << min(silentOpenings, 3))
        let usual = min(openingTime * 2, UpstreamLimits.connect / 2)
        return max(usual, min(wait, UpstreamLimits.fairWait))
    }
}
