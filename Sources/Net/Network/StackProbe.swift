// SPDX-License-Identifier: Apache-2.0
private import Glibc
private import Locks

/// Check if the Internet is reachable over IPv4 and over IPv6.
///
/// A route does not prove that a family works: a router can lose its IPv4 uplink. If both families
/// have a route, the probe opens TCP connections to servers that the daemon uses, and sends no
/// data.
@ServiceLoop
package final class StackProbe {
    package typealias Connect = @ServiceLoop (SocketAddress, _ deadline: Instant) async -> Bool

    package static let patience = Duration.seconds(2)

    package static let maximumServers = 2

    private let routes: () -> NetworkStack
    private let connect: Connect
    private let clocks: Clocks

    package init(
        routes: @escaping () -> NetworkStack,
        clocks: Clocks = .system,
        connect: @escaping Connect = { await StackProbe.connects(to: $0, $1) }
    ) {
        self.routes = routes
        self.clocks = clocks
        self.connect = connect
    }

    package var byRoutes: NetworkStack { routes() }

    /// Connects to `servers`, and returns the address families that work.
    ///
    /// Returns all families with a route if `servers` lack a family, or if no server is reachable.
    package func test(_ servers: [SocketAddress]) async -> NetworkStack {
        let stack = routes()
        guard stack == .dual else { return stack }
        let v4 = Array(servers.lazy.filter { !$0.isIPv6 }.prefix(Self.maximumServers))
        let v6 = Array(servers.lazy.filter(\.isIPv6).prefix(Self.maximumServers))
        guard !v4.isEmpty, !v6.isEmpty else { return stack }
        let deadline = clocks.now() + Self.patience
        async let first = reaches(v4, deadline)
        async let second = reaches(v6, deadline)
        let (hasIPv4, hasIPv6) = (await first, await second)
        guard hasIPv4 || hasIPv6 else { return stack }
        return NetworkStack(hasIPv4: hasIPv4, hasIPv6: hasIPv6)
    }

    private func reaches(_ servers: [SocketAddress], _ deadline: Instant) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for server in servers {
                group.addTask { await self.connect(server, deadline) }
            }
            for await isReached in group where isReached {
                group.cancelAll()
                return true
            }
            return false
        }
    }

    /// A refused connection also proves that the network path works.
    package static func connects(to server: SocketAddress, _ deadline: Instant) async -> Bool {
        do throws(SocketError) {
            try await StreamConnection.connect(to: server, deadline: deadline).close()
            return true
        } catch {
            return error == .system(call: "connect", code: ECONNREFUSED)
        }
    }
}

/// Address families that work; nil until the first probe has ended.
package final class DetectedStack: Sendable {
    private let stack = Lock<NetworkStack?>(nil)

    package init() {}

    package var current: NetworkStack? {
        get { stack.withLock { $0 } }
        set { stack.withLock { $0 = newValue } }
    }
}
