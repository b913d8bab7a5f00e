// SPDX-License-Identifier: Apache-2.0

/// Watch for changes of this machine's addresses and default routes.
///
/// A netlink notification triggers a query of the addresses and routes. A change is reported
/// immediately, but not earlier than ``settling`` after the previous report. The loss of an address
/// or route is reported only if no new address or route follows within ``settling``.
@ServiceLoop
package final class NetworkWatch {
    package struct Change: Sendable, Hashable, CustomStringConvertible {
        /// Differences, such as `got 192.0.2.7 on eth0`.
        package let parts: [String]

        static let shown = 8

        package var description: String {
            let first = parts.prefix(Self.shown).joined(separator: ", ")
            return parts.count > Self.shown
                ? "\(first) and \(parts.count - Self.shown) more" : first
        }
    }

    /// Minimum interval between two reports; also the wait for a new address after a loss.
    ///
    /// If a change occurs within ``memory`` after a report, the interval doubles, up to
    /// ``longestSettling``, because each report drops connections and may repeat billed requests.
    package nonisolated static let settling: Duration = .milliseconds(200)

    /// Longest interval between two reports.
    package nonisolated static let longestSettling: Duration = .seconds(5)

    /// Time after a report within which a further change doubles the interval.
    package nonisolated static let memory: Duration = .seconds(30)

    private static let burst = 64

    private struct Wait {
        let timer: LoopTimer

        /// True if the wait ends as soon as a new address or route replaces the lost one.
        let isForReplacement: Bool
    }

    private let socket: OwnedDescriptor
    private let look: NetworkLook
    private let handler: @ServiceLoop (Change) -> Void
    private var watch: DescriptorWatch?

    private var state: NetworkState

    private var heard: NetworkState

    private var wait: Wait?

    private var pace = Pace()

    private var hasNews = false

    /// Failures that may hide changes, such as lost notifications.
    private var losses: Set<String> = []

    /// Watches this process's network namespace until released.
    ///
    /// - Throws: `SocketError`, for example if a sandbox forbids AF_NETLINK; `NetlinkError` if the
    ///   kernel does not return the state.
    package convenience init(_ handler: @escaping @ServiceLoop (Change) -> Void) throws {
        try self.init(
            events: OwnedDescriptor(NetworkLook.openEvents(), from: "netlink"),
            look: NetworkLook(),
            handler
        )
    }

    init(
        events: consuming OwnedDescriptor,
        look: NetworkLook,
        _ handler: @escaping @ServiceLoop (Change) -> Void
    ) throws {
        let raw = events.raw
        socket = events
        self.look = look
        self.handler = handler
        // The notification socket is open before this netlink request, so no change is missed.
        state = try look.state()
        heard = state
        watch = nil
        // Level-triggered: if one call of `read` does not read all datagrams, the next iteration
        // continues.
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit {
        watch?.cancel()
        wait?.timer.cancel()
    }
}

// MARK: - Events

extension NetworkWatch {
    private func read() {
        for _ in 0..<Self.burst {
            do throws(SocketError) {
                guard let datagram = try ReceiveBuffer.receive(from: socket.raw) else { break }
                note(datagram)
            } catch {
                // ENOBUFS means that the kernel has dropped notifications.
                losses.insert("lost netlink messages (\(error))")
            }
        }
        guard hasNews || !losses.isEmpty else { return }
        if wait?.isForReplacement ?? true { consider() }
    }

    func note(_ datagram: [UInt8]) {
        guard !hasNews else { return }
        do throws(NetlinkError) {
            for message in try NetlinkMessage.all(in: datagram) where try state.isNews(message) {
                hasNews = true
            }
        } catch {
            losses.insert("cannot parse a netlink message (\(error))")
        }
    }

    /// Queries the state and calls the handler if the state has changed.
    ///
    /// If `isOverdue` is false, a loss of addresses or routes is not reported yet. Instead, the
    /// watch waits for a new address or route.
    private func consider(isOverdue: Bool = false) {
        var failures = losses.sorted()
        hasNews = false
        losses = []
        do {
            state = try look.state()
        } catch {
            // Reports a failed query as a change, because the failure can hide a change.
            failures.append("cannot query the network state (\(error))")
        }
        if failures.isEmpty, !isOverdue, state.isLess(than: heard) {
            if wait == nil { hold(Self.settling, isForReplacement: true) }
            return
        }
        wait?.timer.cancel()
        let parts = state.changes(since: heard) + failures
        heard = state
        guard !parts.isEmpty else { return hold(Self.settling, isForReplacement: false) }
        hold(pace.next(Clock.now), isForReplacement: false)
        handler(Change(parts: parts))
    }

    /// Starts a period in which the handler is not called; at the end, queries the state if
    /// necessary.
    private func hold(_ time: Duration, isForReplacement: Bool) {
        let timer = LoopTimer(at: Clock.now + time) { [weak self] in
            guard let self else { return }
            wait = nil
            if isForReplacement {
                consider(isOverdue: true)
            } else if hasNews || !losses.isEmpty {
                consider()
            }
        }
        wait = Wait(timer: timer, isForReplacement: isForReplacement)
    }
}

extension NetworkWatch {
    /// Minimum interval between two reactions to changes; longer if changes are frequent.
    package struct Pace: Sendable, Hashable {
        private var interval: Duration = .zero
        private var latest: Instant?

        package init() {}

        /// Records a change; returns the minimum interval until the reaction to the next change.
        package mutating func next(_ now: Instant) -> Duration {
            let isFollower = latest.map { now - $0 < NetworkWatch.memory } ?? false
            let doubled = min(interval * 2, NetworkWatch.longestSettling)
            interval = isFollower ? doubled : NetworkWatch.settling
            latest = now
            return interval
        }
    }
}
