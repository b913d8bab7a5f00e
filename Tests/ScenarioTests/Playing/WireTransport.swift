// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld

@testable import Configuration
@testable import Upstream

/// Transport to a simulated upstream, which encodes and validates messages like a real transport.
final class WireTransport: UpstreamTransport {
    let isProtected: Bool
    let validates: Bool
    let repeatsAfter: Duration?

    private var foreignReplies: UInt64 = 0
    private var tcpRetries: UInt64 = 0

    private let name: String
    private let server: SocketAddress
    private let transport: UpstreamExchange.Transport
    private let network: Network
    private var random: Seeded

    init(_ settings: UpstreamSettings, to server: SocketAddress, _ network: Network) {
        name = settings.name
        isProtected = settings.url.scheme.isProtected
        validates = settings.validates
        repeatsAfter = settings.url.scheme == .udp ? .zero : .seconds(1)
        transport =
            switch settings.url.scheme {
            case .udp: .datagram
            case .tcp: .stream
            case .tls, .https: .encrypted
            }
        self.server = server
        self.network = network
        random = Seeded(state: UInt64(server.octets.last ?? 0))
    }

    func carry(_ attempt: Attempt) {
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                attempt.end(.success(try await ask(attempt)))
            } catch {
                if error == .timedOut { network.timeouts += 1 }
                attempt.end(.failure(error))
            }
        }
    }

    func count(in numbers: inout UpstreamNumbers) {
        numbers.foreignReplies = foreignReplies
        numbers.tcpRetries = tcpRetries
    }

    func networkChanged() {}

    private func ask(_ attempt: Attempt) async throws(UpstreamError) -> UpstreamReply {
        let deadline = attempt.deadline
        if transport == .datagram {
            let exchange = UpstreamExchange(
                attempt.query,
                usesEDNS: attempt.usesEDNS,
                validates: validates,
                random: &random
            )
            let replies = try await replies(to: exchange, isTCP: false, deadline)
            let start = network.world.now
            waiting: for reply in replies {
                try await wait(until: start + reply.after, deadline)
                switch exchange.validate(reply.octets) {
                case .reply(let message): return message
                case .foreign: foreignReplies += 1
                case .truncated, .doubtful, .otherCase:
                    tcpRetries += 1
                    return try await askStream(attempt, .stream)
                }
            }
            try await wait(until: nil, deadline)
        }
        return try await askStream(attempt, transport)
    }

    private func askStream(
        _ attempt: Attempt,
        _ transport: UpstreamExchange.Transport
    ) async throws(UpstreamError) -> UpstreamReply {
        let deadline = attempt.deadline
        let exchange = UpstreamExchange(
            attempt.query,
            over: transport,
            usesEDNS: attempt.usesEDNS,
            validates: validates,
            random: &random
        )
        let replies = try await replies(to: exchange, isTCP: true, deadline)
        let start = network.world.now
        for reply in replies {
            try await wait(until: start + reply.after, deadline)
            if let message = exchange.judgeStream(reply.octets) { return message }
            foreignReplies += 1
        }
        try await wait(until: nil, deadline)
        throw .timedOut
    }

    private func replies(
        to exchange: UpstreamExchange,
        isTCP: Bool,
        _ deadline: Instant
    ) async throws(UpstreamError) -> [(octets: [UInt8], after: Duration)] {
        let reply = network.reply(
            of: name,
            at: server.host,
            to: exchange.message,
            isTCP: isTCP
        )
        switch reply {
        case .datagrams(let datagrams):
            return datagrams.sorted { $0.after < $1.after }
        case .fault(let fault, let after):
            if fault == .silent { try await wait(until: nil, deadline) }
            try await wait(until: network.world.now + after, deadline)
            switch fault {
            case .unreachable: throw .unreachable("no route")
            case .badCertificate: throw .untrusted("expired")
            default: throw .broken("closed the connection before the reply")
            }
        }
    }

    private func wait(
        until end: Instant?,
        _ deadline: Instant
    ) async throws(UpstreamError) {
        let end = end.flatMap { $0 <= deadline ? $0 : nil }
        do throws(CancellationError) {
            try await network.world.pause(until: end ?? deadline)
        } catch {
            throw .timedOut
        }
        guard end != nil else { throw .timedOut }
    }
}

struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
