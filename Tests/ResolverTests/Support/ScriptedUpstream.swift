// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Upstream

final class ScriptedUpstream: Forwarding {
    let name: String
    let url = "scripted"
    let isProtected: Bool
    let latency = LatencyHistogram()
    let timeout: Duration
    let validates: Bool
    let numbers = UpstreamNumbers()

    private(set) var asked: [Query] = []

    private(set) var sent: [Query] = []

    var world: Simulation?
    var note: (Query) -> Void = { _ in }

    private let delay: Duration?
    private let script: @Sendable (inout Message) throws(UpstreamError) -> Void

    init(
        _ name: String = "upstream",
        after delay: Duration? = .milliseconds(10),
        timeout: Duration = .seconds(2),
        validates: Bool = false,
        isProtected: Bool = false,
        _ script: @escaping @Sendable (inout Message) throws(UpstreamError) -> Void
    ) {
        self.validates = validates
        self.isProtected = isProtected
        self.name = name
        self.delay = delay
        self.timeout = timeout
        self.script = script
    }

    func ask(_ attempt: Attempt) {
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                let message = try await reply(to: attempt.query, by: attempt.deadline)
                attempt.end(.success(.message(message)))
            } catch {
                attempt.end(.failure(error))
            }
        }
    }

    private func reply(
        to query: Query,
        by deadline: Instant
    ) async throws(UpstreamError) -> Message {
        sent.append(query)
        if query.question != Question(name: .root, type: .ns) {
            asked.append(query)
            note(query)
        }
        if let world {
            let end = min(deadline, world.now + timeout)
            let arrival = delay.map { world.now + $0 } ?? .distant
            do {
                try await world.pause(until: min(end, arrival))
            } catch {
                throw .timedOut
            }
            guard arrival <= end else { throw .timedOut }
        }
        var header = Header()
        header.isResponse = true
        var message = Message(header: header)
        message.questions = [query.question]
        try script(&message)
        return message
    }
}

extension Instant {
    fileprivate static var distant: Self { Clock.now + .seconds(1 << 30) }
}

extension ScriptedUpstream {
    convenience init(
        _ name: String = "upstream",
        address: UInt32 = 0xC000_0263,
        after delay: Duration = .milliseconds(10)
    ) {
        self.init(name, after: delay) { (message) throws(UpstreamError) in
            guard let question = message.questions.first else { return }
            switch question.type {
            case .a: message.answers = [.a(question.name, address)]
            case .aaaa: message.answers = [.aaaa(question.name, 0x99)]
            default: break
            }
        }
    }

    static func denying(_ rcode: RCode) -> ScriptedUpstream {
        ScriptedUpstream { (message) throws(UpstreamError) in
            message.rcode = rcode
            message.authorities = [.soa("example.com", minimum: 30)]
        }
    }

    static func failing(
        _ error: UpstreamError,
        after delay: Duration = .milliseconds(10)
    ) -> ScriptedUpstream {
        ScriptedUpstream(after: delay) { (_) throws(UpstreamError) in throw error }
    }

    static func silent(timeout: Duration) -> ScriptedUpstream {
        ScriptedUpstream(after: nil, timeout: timeout) { _ in }
    }
}
