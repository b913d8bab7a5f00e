// SPDX-License-Identifier: Apache-2.0
private import CLinux

/// Watch for changes of the names and states of network interfaces.
@ServiceLoop
package final class LinkWatch {
    package struct Link: Sendable, Hashable {
        package let name: String

        package let isRunning: Bool

        package let isTunnel: Bool
    }

    private static let settling = Duration.milliseconds(20)

    private static let burst = 64

    package private(set) var links: [Int32: Link]

    private let socket: OwnedDescriptor
    private let look: NetworkLook
    private let handler: @ServiceLoop () -> Void
    private var watch: DescriptorWatch?
    private var timer: LoopTimer?

    /// Watches this process's network namespace, until released.
    package convenience init(_ handler: @escaping @ServiceLoop () -> Void) throws {
        try self.init(
            events: OwnedDescriptor(NetworkLook.openEvents(), from: "netlink"),
            look: NetworkLook(),
            handler
        )
    }

    init(
        events: consuming OwnedDescriptor,
        look: NetworkLook,
        _ handler: @escaping @ServiceLoop () -> Void
    ) throws {
        let raw = events.raw
        socket = events
        self.look = look
        self.handler = handler
        // The notification socket is open before this request, so no change is missed.
        links = try look.links()
        watch = nil
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit {
        watch?.cancel()
        timer?.cancel()
    }

    private func read() {
        var hasNews = false
        for _ in 0..<Self.burst {
            do {
                guard let datagram = try ReceiveBuffer.receive(from: socket.raw) else { break }
                hasNews = try NetlinkMessage.all(in: datagram).contains(where: isNews) || hasNews
            } catch {
                // The kernel dropped notifications, or sent an invalid one.
                hasNews = true
            }
        }
        guard hasNews, timer == nil else { return }
        timer = LoopTimer(at: Clock.now + Self.settling) { [weak self] in self?.update() }
    }

    private func isNews(_ message: NetlinkMessage) throws(NetlinkError) -> Bool {
        guard case .link(let fact)? = try NetworkFact(message) else { return false }
        let isEnd = message.type == ROUTE_DELETED_LINK
        return links[fact.index] != (isEnd ? nil : Link(fact))
    }

    private func update() {
        timer = nil
        guard let new = try? look.links() else {
            timer = LoopTimer(at: Clock.now + .seconds(1)) { [weak self] in self?.update() }
            return
        }
        guard new != links else { return }
        links = new
        handler()
    }
}

extension LinkWatch.Link {
    fileprivate init(_ fact: NetworkFact.Link) {
        self.init(name: fact.name, isRunning: fact.isRunning, isTunnel: fact.isTunnel)
    }
}

extension NetworkLook {
    @ServiceLoop
    fileprivate func links() throws -> [Int32: LinkWatch.Link] {
        var links: [Int32: LinkWatch.Link] = [:]
        try ask(ROUTE_GET_LINK, [UInt8](repeating: 0, count: 16)) { fact in
            if case .link(let link) = fact { links[link.index] = LinkWatch.Link(link) }
        }
        return links
    }
}
