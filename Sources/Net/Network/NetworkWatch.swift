// SPDX-License-Identifier: Apache-2.0

/// Tells when this machine is reached in other ways than before.
///
/// The kernel tells of every link, address and default route.  What it tells is a reason to look,
/// not to act: the handler hears of a change if two looks differ.  It hears of the first at once, and
/// of those that follow together: a change of the network is many of them.  But while a network is
/// being taken apart there is nothing to be done yet; so a loss waits a moment for what replaces it.
@ServiceLoop
package final class NetworkWatch {
    /// What is another way than it was.
    package struct Change: Sendable, Hashable, CustomStringConvertible {
        /// Each in a few words, such as `got 192.0.2.7 on eth0`.
        package let parts: [String]

        /// Parts that are shown; a machine can have thousands of addresses.
        static let shown = 8

        /// The first of them in a line, and how many more there are.
        package var description: String {
            let first = parts.prefix(Self.shown).joined(separator: ", ")
            return parts.count > Self.shown
                ? "\(first) and \(parts.count - Self.shown) more" : first
        }
    }

    /// How long a loss waits for what replaces it, and further news wait after a change.
    ///
    /// Long enough for the addresses and routes of one change to come together, short enough that
    /// nobody who asks meanwhile notices.  After a change it doubles as long as there are news each
    /// time, up to ``longestSettling``: what is dropped and asked again for a link that comes and goes
    /// may have to be paid for.
    package static let settling: Duration = .milliseconds(200)
    package static let longestSettling: Duration = .seconds(5)

    /// Datagrams that are read in one turn of the loop.
    private static let burst = 64

    /// A time in which the handler is not called.
    private struct Wait {
        let timer: LoopTimer

        /// Whether it is for what replaces a loss, which ends it.
        let isForReplacement: Bool
    }

    private let socket: OwnedDescriptor
    private let look: NetworkLook
    private let handler: @ServiceLoop (Change) -> Void
    private var watch: DescriptorWatch?

    /// What the latest look saw.
    private var state: NetworkState

    /// What the handler knows of.
    private var heard: NetworkState

    /// Why news wait; nil if they do not.
    private var wait: Wait?

    /// Whether there were news since the latest look.
    private var hasNews = false

    /// What happened since the latest look that no look shows.
    private var losses: Set<String> = []

    /// Watches the network that this process is in, until released.
    ///
    /// - Throws: `SocketError` if there is no such socket, as in a sandbox without AF_NETLINK;
    ///   `NetlinkError` if the kernel does not tell what there is.
    package convenience init(_ handler: @escaping @ServiceLoop (Change) -> Void) throws {
        try self.init(
            events: OwnedDescriptor(NetworkLook.openEvents(), from: "netlink"),
            look: NetworkLook(),
            handler
        )
    }

    /// Watches the network that `events`, and the sockets of `look`, were made in.
    init(
        events: consuming OwnedDescriptor,
        look: NetworkLook,
        _ handler: @escaping @ServiceLoop (Change) -> Void
    ) throws {
        let raw = events.raw
        socket = events
        self.look = look
        self.handler = handler
        // After the socket was made: what changes meanwhile is told.
        state = try look.state()
        heard = state
        watch = nil
        // Level-triggered, as a turn may leave some.
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit {
        watch?.cancel()
        wait?.timer.cancel()
    }
}

// MARK: - Events

extension NetworkWatch {
    /// Reads what the kernel tells, and looks if any of it is news.
    private func read() {
        for _ in 0..<Self.burst {
            do throws(SocketError) {
                guard
                    let datagram = try ReceiveBuffer.receive(
                        from: socket.raw,
                        upTo: ReceiveBuffer.capacity
                    )
                else { break }
                note(datagram)
            } catch {
                // ENOBUFS: more came than the socket's buffer holds, and the rest is gone.
                losses.insert("lost what the kernel told (\(error))")
            }
        }
        guard hasNews || !losses.isEmpty else { return }
        if wait?.isForReplacement ?? true { consider() }
    }

    /// Takes in what one datagram tells.
    func note(_ datagram: [UInt8]) {
        guard !hasNews else { return }
        do throws(NetlinkError) {
            for message in try NetlinkMessage.all(in: datagram) where try state.isNews(message) {
                hasNews = true
            }
        } catch {
            losses.insert("could not read what the kernel told (\(error))")
        }
    }

    /// Looks, and calls the handler if it sees another network, unless that may soon be a better one.
    ///
    /// - Parameters:
    ///   - pause: how long further news wait after a change.
    ///   - isOverdue: whether what is missing has been waited for.
    private func consider(pause: Duration = settling, isOverdue: Bool = false) {
        var failures = losses.sorted()
        hasNews = false
        losses = []
        do {
            state = try look.state()
        } catch {
            // Whatever it is now, it is not what it was.
            failures.append("could not be looked at (\(error))")
        }
        if failures.isEmpty, !isOverdue, state.isLess(than: heard) {
            if wait == nil { hold(Self.settling, isForReplacement: true) }
            return
        }
        wait?.timer.cancel()
        let parts = state.changes(since: heard) + failures
        heard = state
        hold(parts.isEmpty ? Self.settling : pause, isForReplacement: false)
        if !parts.isEmpty { handler(Change(parts: parts)) }
    }

    /// Lets news wait for some time, then looks if there is a reason to.
    private func hold(_ time: Duration, isForReplacement: Bool) {
        let timer = LoopTimer(at: Clock.now + time) { [weak self] in
            guard let self else { return }
            wait = nil
            if isForReplacement {
                consider(isOverdue: true)
            } else if hasNews || !losses.isEmpty {
                consider(pause: min(time * 2, Self.longestSettling))
            }
        }
        wait = Wait(timer: timer, isForReplacement: isForReplacement)
    }
}
