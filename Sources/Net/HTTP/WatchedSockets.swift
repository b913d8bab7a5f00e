// SPDX-License-Identifier: Apache-2.0
private import CCurl
private import Glibc

/// The sockets that libcurl waits for, by its numbers for them.
///
/// libcurl (7.88) closes some sockets before it says that it no longer waits for them, among them
/// each one whose connect has failed, and then may open another that gets the number: it goes on as
/// if that one were watched.  So what the loop watches is a duplicate of our own, which is here until
/// its watch has ended, whoever closes what; and sockets are opened here, where a number that is used
/// anew is noticed.
@ServiceLoop
final class WatchedSockets {
    /// One of them.
    @ServiceLoop
    final class Socket {
        fileprivate private(set) var events: DescriptorWatch.Events

        /// When something last came, nil if nothing did since it is watched.
        private(set) var lastHeard: ContinuousClock.Instant?

        private let duplicate: OwnedDescriptor
        private var watch: DescriptorWatch?

        fileprivate init(
            _ descriptor: Int32,
            _ events: DescriptorWatch.Events,
            handler: @escaping @ServiceLoop (DescriptorWatch.Events) -> Void
        ) throws(SocketError) {
            self.events = events
            duplicate = try OwnedDescriptor(
                SpareDescriptors.open { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) },
                from: "fcntl"
            )
            watch = nil
            // Level-triggered, as libcurl expects.
            watch = try DescriptorWatch(duplicate.raw, events) { [weak self] in
                if $0.contains(.readable) { self?.lastHeard = Clock.now }
                handler($0)
            }
        }

        fileprivate func change(to events: DescriptorWatch.Events) {
            self.events = events
            watch?.change(to: events)
        }

        /// Ends the watch, and only then closes what was watched.
        isolated deinit { watch?.cancel() }
    }

    private(set) var all: [Int32: Socket] = [:]

    /// Called with what happens on which socket.
    var handler: @ServiceLoop (Int32, DescriptorWatch.Events) -> Void = { _, _ in }

    /// Watches a socket for these events, and for no others.
    func watch(
        _ descriptor: Int32,
        _ events: DescriptorWatch.Events
    ) throws(SocketError) {
        if let socket = all[descriptor] { return socket.change(to: events) }
        all[descriptor] = try Socket(descriptor, events) { [weak self] in
            self?.handler(descriptor, $0)
        }
    }

    /// Ends the watch of a socket, if there is one.
    func forget(_ descriptor: Int32) { all[descriptor] = nil }

    /// Ends all watches.
    func forgetAll() { all = [:] }

    /// Opens a socket, if need be with a descriptor of those that are kept back; -1 if that fails.
    ///
    /// If it gets the number of one that libcurl closed without a word, it is watched in its place.
    func open(family: Int32, type: Int32, protocol: Int32) -> Int32 {
        let descriptor = SpareDescriptors.open {
            socket(family, type | Int32(SOCK_CLOEXEC.rawValue), `protocol`)
        }
        if let events = all.removeValue(forKey: descriptor)?.events {
            do throws(SocketError) {
                try watch(descriptor, events)
            } catch {
                _ = Glibc.close(descriptor)
                return -1
            }
        }
        return descriptor
    }

    /// Ends the watch of a socket, then closes it.
    func close(_ descriptor: Int32) -> Int32 {
        forget(descriptor)
        defer { SpareDescriptors.refill() }
        return Glibc.close(descriptor)
    }
}
