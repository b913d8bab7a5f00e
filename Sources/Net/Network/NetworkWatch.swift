// SPDX-License-Identifier: Apache-2.0

/// Watch for changes of this machine's addresses and default routes.
///
/// A change is reported immediately, but not earlier than ``settling`` after the previous report. A
/// loss is reported only if no new address or route follows within ``settling``.
@ServiceLoop
package final class NetworkWatch {
    package struct Change: Sendable, Hashable, CustomStringConvertible {
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

    package nonisolated static let longestSettling: Duration = .seconds(5)

    package nonisolated static let memory: Duration = .seconds(30)

    private static let burst = 64

    private struct Wait {
        let timer: LoopTimer

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

    private var losses: Set<String> = []

    /// Watches this process's network namespace until released.
    ///
    /// - Throws: `SocketError`, for example if a sandbox forbids AF_NETLINK; `NetlinkError`.
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
        // The notification socket is open before this request, so no change is missed.
        state = try look.state()
        heard = state
        watch = nil
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

    /// If `isOverdue` is false, waits for a new address or route before it reports a loss.
    private func consider(isOverdue: Bool = false) {
        var failures = losses.sorted()
        hasNews = false
        losses = []
        do {
            state = try look.state()
        } catch {
            // A failed query can hide a change.
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
    package struct Pace: Sendable, Hashable {
        private var interval: Duration = .zero
        private var latest: Instant?

        package init() {}

        /// Records a reaction to a change; returns the minimum time until the next reaction.
        package mutating func next(_ now: Instant) -> Duration {
            let isFollower = latest.map { now - $0 < NetworkWatch.memory } ?? false
            let doubled = min(interval * 2, NetworkWatch.longestSettling)
            interval = isFollower ? doubled : NetworkWatch.settling
            latest = now
            return interval
        }
    }
}
