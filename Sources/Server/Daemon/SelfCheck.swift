// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net

/// Finds out whether the daemon answers on its own addresses, by asking there.
///
/// That the loop turns, which the watchdog proves by itself, does not help a client whose worker
/// hangs, or whose query comes to a socket that nobody reads.
@ServiceLoop
final class SelfCheck {
    /// How it went at an address.
    private enum Standing {
        /// It has answered, and so does it again unless something broke.
        case answered

        /// It never has: a firewall, perhaps.  No restart helps against that.
        case neverAnswered

        /// It has stopped answering.
        case silent
    }

    private let question: OwnQuery
    private let clocks: Clocks
    private let logger: Logger
    private var standings: [SocketAddress: Standing] = [:]
    private var random = RandomPool()

    /// Questions for each socket of an address.
    ///
    /// The kernel spreads ports over them, and we cannot choose: one of two is missed in one of 16
    /// rounds, and then not again.
    private static let questionsPerSocket = 4

    /// Questions an address at the most.
    private static let mostQuestions = 64

    /// How often a question is put in a round: a full buffer, in a flood, may drop some.
    private static let attempts = 10

    /// Makes a check that knows nothing yet.
    init(asking question: OwnQuery, clocks: Clocks, logger: Logger) {
        self.question = question
        self.clocks = clocks
        self.logger = logger
    }

    /// Whether every address answers that has answered before; takes `time` if one does not.
    ///
    /// Logs, once, that one does not.
    func passes(_ listeners: [Listeners], within time: Duration) async -> Bool {
        var inquiries: [(address: SocketAddress, inquiry: Inquiry)] = []
        for listener in listeners {
            guard let target = listener.address.ownTarget else { continue }
            let sockets = Set(listener.datagrams.map(ObjectIdentifier.init)).count
            let count = min(
                sockets == 1 ? 1 : sockets * Self.questionsPerSocket,
                Self.mostQuestions
            )
            let messages = (0..<count).map { _ in
                question.message(id: .random(in: .min ... .max, using: &random))
            }
            inquiries.append((listener.address, Inquiry(messages, to: target)))
        }
        defer { for (_, inquiry) in inquiries { inquiry.close() } }

        var end = clocks.now()
        for _ in 0..<Self.attempts where !inquiries.allSatisfy({ $0.inquiry.isAnswered }) {
            end += time / Self.attempts
            for (_, inquiry) in inquiries { inquiry.ask() }
            for (_, inquiry) in inquiries { await inquiry.wait(until: end, clocks) }
            if Task.isCancelled { return false }
        }
        return inquiries.map { note($0.address, isAnswered: $0.inquiry.isAnswered, time) }
            .allSatisfy { $0 }
    }

    /// Notes how it went, and returns whether that is well.
    private func note(_ address: SocketAddress, isAnswered: Bool, _ time: Duration) -> Bool {
        let before = standings[address]
        switch (before, isAnswered) {
        case (.silent, true):
            logger.notice("\(address) answers again")
            standings[address] = .answered
        case (_, true):
            standings[address] = .answered
        case (nil, false):
            logger.warning(
                """
                no answer to our own query at \(address) within \(time), so the watchdog will not \
                notice if nobody is answered there; is there a firewall?
                """
            )
            standings[address] = .neverAnswered
        case (.answered, false):
            logger.critical(
                """
                no answer to our own query at \(address) within \(time); telling systemd nothing, \
                so that it starts us again
                """
            )
            standings[address] = .silent
        case (.neverAnswered, false), (.silent, false):
            break
        }
        return standings[address] != .silent
    }
}

/// A few questions to one address, each from a port of its own.
@ServiceLoop
private final class Inquiry {
    private let target: SocketAddress
    private var open: [OneQuestion]
    private var waiter: Waiter?

    init(_ messages: [[UInt8]], to target: SocketAddress) {
        self.target = target
        open = messages.map(OneQuestion.init)
        for question in open { question.inquiry = self }
    }

    /// Whether all have been answered.
    var isAnswered: Bool { open.isEmpty }

    /// Puts the questions that have no answer yet.
    func ask() {
        for question in open { question.ask(target) }
    }

    /// Waits for the last answer.
    func wait(until deadline: ContinuousClock.Instant, _ clocks: Clocks) async {
        guard !isAnswered else { return }
        let waiter = Waiter()
        self.waiter = waiter
        let timer = clocks.timer(deadline) { waiter.resume(.timedOut) }
        _ = await waiter.wait(until: nil)
        timer.cancel()
    }

    /// Closes the sockets.
    func close() {
        for question in open { question.close() }
        open = []
    }

    /// Notes that a question has its answer.
    func answered(_ question: OneQuestion) {
        open.removeAll { $0 === question }
        if isAnswered { waiter?.resume(.ready) }
    }
}

/// A question and the socket from which it is asked.
@ServiceLoop
private final class OneQuestion: DatagramReceiving {
    weak var inquiry: Inquiry?
    private let message: [UInt8]
    private var socket: DatagramSocket?

    init(_ message: [UInt8]) { self.message = message }

    /// Asks, again from the same port if there was no error: that is the same worker.
    func ask(_ target: SocketAddress) {
        do throws(SocketError) {
            if socket == nil { socket = try DatagramSocket(connectedTo: target, receiver: self) }
            try socket?.send(message)
        } catch {
            // As good as no answer; the next attempt opens another one.
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
        inquiry?.answered(self)
    }

    func failed(_ error: SocketError) { close() }
}

extension SocketAddress {
    /// Where this machine asks to reach whoever listens here; nil if the address is not the
    /// machine's at the moment, as the query would leave it.
    fileprivate var ownTarget: SocketAddress? {
        guard isUnspecified else {
            return SettingsEnvironment.process.isLocal(self) ? self : nil
        }
        let loopback: [UInt8] =
            isIPv6 ? [UInt8](repeating: 0, count: 15) + [1] : [127, 0, 0, 1]
        return SocketAddress(octets: loopback, port: port)
    }
}
