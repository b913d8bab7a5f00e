// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Frontend
internal import Logging
internal import Net
internal import Synchronization

/// Health check: the daemon queries its own addresses.
@ServiceLoop
final class SelfCheck {
    private enum Standing {
        case answered

        /// Perhaps because of a firewall.
        case neverAnswered

        case silent
        case overloaded
    }

    @ServiceLoop
    private struct Check {
        let listeners: Listeners
        let query: SelfCheckQuery
        let batches: [UInt64]
        let fullBuffers: [UInt64]
        var unread: [(socket: DatagramListener, batches: UInt64)] = []

        mutating func noteUnread() {
            unread = listeners.datagrams.filter(\.hasUnreadDatagrams).map {
                ($0, $0.batches.load(ordering: .relaxed))
            }
        }

        /// True if a worker with unread datagrams has read none of them since ``noteUnread()``.
        var hasHungWorker: Bool {
            unread.contains { socket, before in
                socket.batches.load(ordering: .relaxed) == before && socket.hasUnreadDatagrams
            }
        }

        var showsProgress: Bool { !hasHungWorker && (hasReceivedOthers || hasFullBuffer) }

        /// Replies to hosts that do not answer ARP can fill the send buffer.
        private var hasFullBuffer: Bool {
            zip(listeners.datagrams, fullBuffers).contains { socket, before in
                socket.fullBuffers.load(ordering: .relaxed) > before
            }
        }

        /// True if a worker read twice the number of batches that the check itself can cause.
        private var hasReceivedOthers: Bool {
            zip(listeners.datagrams, batches).contains { socket, before in
                let now = socket.batches.load(ordering: .relaxed)
                return now - before > UInt64(2 * SelfCheck.mostQuestions * SelfCheck.attempts)
            }
        }
    }

    private let question: OwnQuery
    private let clocks: Clocks
    private let logger: Logger
    private let open: Opening
    private var standings: [SocketAddress: Standing] = [:]
    private var random = RandomPool()

    /// The kernel selects the socket by the client port.
    ///
    /// With two sockets (8 queries), one check in 128 misses a socket.
    private static let questionsPerSocket = 4

    private static let mostQuestions = 64

    /// Maximum attempts per query, because a flood may fill the socket buffer.
    private static let attempts = 10

    init(
        asking question: OwnQuery,
        clocks: Clocks,
        logger: Logger,
        open: @escaping Opening = SelfCheck.open
    ) {
        self.question = question
        self.clocks = clocks
        self.logger = logger
        self.open = open
    }

    typealias Opening =
        @ServiceLoop (SocketAddress, any DatagramReceiving) throws(SocketError) -> DatagramSocket

    nonisolated static let open: Opening = { (target, receiver) throws(SocketError) in
        try DatagramSocket(connectedTo: target, receiver: receiver)
    }

    /// Returns true if all addresses pass; an address that never answered, or is overloaded,
    /// passes.
    func passes(_ listeners: [Listeners], within time: Duration) async -> Bool {
        var checks: [Check] = []
        for listener in listeners {
            guard let target = listener.boundAddress.ownTarget else { continue }
            let sockets = Set(listener.datagrams.map(ObjectIdentifier.init)).count
            let count = min(
                sockets == 1 ? 1 : sockets * Self.questionsPerSocket,
                Self.mostQuestions
            )
            let messages = (0..<count).map { _ in
                question.message(id: .random(in: .min ... .max, using: &random))
            }
            checks.append(
                Check(
                    listeners: listener,
                    query: SelfCheckQuery(messages, to: target, open),
                    batches: listener.datagrams.map { $0.batches.load(ordering: .relaxed) },
                    fullBuffers: listener.datagrams.map { $0.fullBuffers.load(ordering: .relaxed) }
                )
            )
        }
        defer { for check in checks { check.query.close() } }

        var end = clocks.now()
        for attempt in 0..<Self.attempts where !checks.allSatisfy({ $0.query.isAnswered }) {
            end += time / Self.attempts
            for check in checks { check.query.ask() }
            for check in checks { await check.query.wait(until: end, clocks) }
            if attempt == 0 { for index in checks.indices { checks[index].noteUnread() } }
            if Task.isCancelled { return false }
        }
        return checks.map { note($0, time) }.allSatisfy { $0 }
    }

    /// Returns false if the address has stopped answering.
    private func note(_ check: Check, _ time: Duration) -> Bool {
        let address = check.listeners.address
        // An address can become unreachable, for example because IPv6 was switched off. A restart
        // would not help.
        guard !check.query.isUnreachable else { return true }
        if let shortage = check.query.shortage {
            warn(of: shortage, at: address)
            return true
        }
        let before = standings[address]
        switch (before, check.query.isAnswered) {
        case (.silent, true), (.overloaded, true):
            logger.notice(
                "listener \(address): answers again",
                metadata: ["listener": "\(address)"]
            )
            standings[address] = .answered
        case (_, true): standings[address] = .answered
        case (nil, false):
            logger.warning(
                """
                listener \(address): no reply to the health check query within \(time); the watchdog cannot \
                monitor this address; check the firewall
                """
            )
            standings[address] = .neverAnswered
        case (.overloaded, false) where check.showsProgress: break
        case (.answered, false) where check.showsProgress,
            (.silent, false) where check.showsProgress:
            logger.warning(
                """
                listener \(address): overloaded: no reply to the health check query within \(time), but \
                other queries are received; limit the clients with `rate-limit` or `allow`
                """,
                metadata: ["listener": "\(address)"]
            )
            standings[address] = .overloaded
        case (.answered, false), (.overloaded, false):
            logger.critical(
                """
                listener \(address): no reply to the health check query within \(time); watchdog \
                notifications stop, so that systemd restarts the daemon
                """
            )
            standings[address] = .silent
        case (.neverAnswered, false), (.silent, false): break
        }
        return standings[address] != .silent
    }

    private func warn(of shortage: SocketError, at address: SocketAddress) {
        logger.warning(
            """
            listener \(address): cannot be checked for the watchdog: \(shortage); find the process \
            that holds many sockets with `ss -aup`
            """,
            metadata: ["listener": "\(address)"]
        )
    }
}

@ServiceLoop
private final class SelfCheckQuery {
    private let target: SocketAddress
    private var open: [OneQuestion]
    private var waiter: Waiter?

    init(_ messages: [[UInt8]], to target: SocketAddress, _ connect: @escaping SelfCheck.Opening) {
        self.target = target
        open = messages.map { OneQuestion($0, connect) }
        for question in open { question.query = self }
    }

    var isAnswered: Bool { open.isEmpty }

    var isUnreachable: Bool { open.contains(where: \.isUnreachable) }

    var shortage: SocketError? {
        open.allSatisfy { $0.shortage != nil } ? open.first?.shortage : nil
    }

    func ask() { for question in open { question.ask(target) } }

    func wait(until deadline: Instant, _ clocks: Clocks) async {
        guard !isAnswered else { return }
        let waiter = Waiter()
        self.waiter = waiter
        _ = await waiter.wait(until: deadline, clocks)
    }

    func close() {
        for question in open { question.close() }
        open = []
    }

    func answered(_ question: OneQuestion) {
        open.removeAll { $0 === question }
        if isAnswered { waiter?.resume(.ready) }
    }
}

@ServiceLoop
private final class OneQuestion: DatagramReceiving {
    weak var query: SelfCheckQuery?
    private let message: [UInt8]
    private var socket: DatagramSocket?
    private(set) var isUnreachable = false

    /// Lack of UDP ports in the latest attempt; nil for a lack of descriptors or memory.
    ///
    /// A restart can end a lack of descriptors or memory, so the check must fail.
    private(set) var shortage: SocketError?

    private let open: SelfCheck.Opening

    init(_ message: [UInt8], _ open: @escaping SelfCheck.Opening) {
        self.message = message
        self.open = open
    }

    /// A retry uses the same port, and so reaches the same worker.
    func ask(_ target: SocketAddress) {
        do throws(SocketError) {
            if socket == nil { socket = try open(target, self) }
            try socket?.send(message)
            shortage = nil
        } catch {
            isUnreachable = error.isAddressMissing || error.isUnreachable
            shortage = error == .noPort ? error : nil
            close()
        }
    }

    func close() {
        socket?.close()
        socket = nil
    }

    func received(_ octets: Span<UInt8>) {
        guard octets.count >= OwnQuery.headerOctets, octets[0] == message[0],
            octets[1] == message[1], octets[2] & 0x80 != 0
        else { return }
        close()
        query?.answered(self)
    }

    func failed(_ error: SocketError) { close() }
}

extension SocketAddress {
    /// Address to query; nil if the machine lacks it, because the query would leave the machine.
    fileprivate var ownTarget: SocketAddress? {
        guard isUnspecified else { return SettingsEnvironment.process.isLocal(self) ? self : nil }
        let loopback: [UInt8] =
            isIPv6 ? [UInt8](repeating: 0, count: 15) + [1] : [127, 0, 0, 1]
        return SocketAddress(octets: loopback, port: port)
    }
}
