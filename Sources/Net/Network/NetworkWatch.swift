// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// Tells when this machine is reached in other ways than before.
///
/// The kernel tells of every link, address and default route.  What it tells is a reason to look,
/// not to act: the handler hears of a change if two looks differ.  The first news is looked after at
/// once, those that follow together: a change of the network is many of them.
@ServiceLoop
package final class NetworkWatch {
    /// What is another way than it was.
    package struct Change: Sendable, Hashable, CustomStringConvertible {
        /// Each in a few words, such as `got 192.0.2.7 on eth0`.
        package let parts: [String]

        /// Everything in a line.
        package var description: String { parts.joined(separator: ", ") }
    }

    /// How long after a look further news wait for the next one.
    ///
    /// Long enough for the addresses and routes of one change to come together, short enough that
    /// nobody who asks meanwhile notices a second one.
    ///
    /// Doubles as long as there are news each time, up to ``longestSettling``: what is dropped and asked
    /// again for a link that comes and goes may have to be paid for.
    package static let settling: Duration = .milliseconds(200)
    package static let longestSettling: Duration = .seconds(5)

    /// Datagrams that are read in one turn of the loop.
    private static let burst = 64

    private let socket: OwnedDescriptor
    private let look: NetworkLook
    private let handler: @ServiceLoop (Change) -> Void
    private var watch: DescriptorWatch?

    /// What the latest look saw.
    private var state: NetworkState

    /// Runs from a look until the next one may be.
    private var pause: LoopTimer?

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
            events: OwnedDescriptor(linux_route_events(), from: "netlink"),
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
        watch = nil
        // Level-triggered, as a turn may leave some.
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit {
        watch?.cancel()
        pause?.cancel()
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
        if hasNews || !losses.isEmpty { lookSoon() }
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

    /// Looks at once, or when the pause after the latest look is over.
    private func lookSoon(settling: Duration = settling) {
        guard pause == nil else { return }
        pause = LoopTimer(at: Clock.now + settling) { [weak self] in
            guard let self else { return }
            pause = nil
            guard hasNews || !losses.isEmpty else { return }
            lookSoon(settling: min(settling * 2, Self.longestSettling))
        }
        compare()
    }

    /// Looks, and tells what is another way.
    private func compare() {
        var parts = losses.sorted()
        hasNews = false
        losses = []
        do {
            let old = state
            state = try look.state()
            parts = state.changes(since: old) + parts
        } catch {
            // Whatever it is now, it is not what it was.
            parts.append("could not be looked at (\(error))")
        }
        if !parts.isEmpty { handler(Change(parts: parts)) }
    }
}
