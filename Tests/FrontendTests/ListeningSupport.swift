// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Resolver
import Testing
import Upstream

@testable import Frontend

final class HeldUpstream: Forwarding {
    let name = "held"
    let url = "scripted"
    let isProtected = false
    let latency = LatencyHistogram()
    let timeout: Duration = .seconds(60)
    let numbers = UpstreamNumbers()

    private var waiting: [Name: CheckedContinuation<Void, Never>] = [:]
    private var watcher: (count: Int, continuation: CheckedContinuation<Void, Never>)?

    func ask(_ attempt: Attempt) {
        let label = attempt.query.question.name.labels.first { _ in true }.map(Array.init)
        guard label != Array("crowded".utf8) else { return attempt.end(.failure(.crowded)) }
        ServiceLoop.task { [self] in
            attempt.end(.success(.message(await answer(attempt.query.question.name))))
        }
    }

    private func answer(_ name: Name) async -> Message {
        if name.labels.first(where: { _ in true }).map(Array.init) == Array("slow".utf8) {
            await withCheckedContinuation { continuation in
                waiting[name] = continuation
                if let watcher, watcher.count == waiting.count {
                    self.watcher = nil
                    watcher.continuation.resume()
                }
            }
        }
        var message = Message(header: Header())
        message.answers = [
            Record(name: name, ttl: 300, data: .a(IPv4Address(value: 0xC000_0201)))
        ]
        return message
    }

    func crowd(of count: Int) async {
        guard waiting.count < count else { return }
        await withCheckedContinuation { watcher = (count, $0) }
    }

    func release() {
        for continuation in waiting.values { continuation.resume() }
        waiting = [:]
    }
}

@ServiceLoop
final class ListenerHarness {
    let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
    let upstream = HeldUpstream()
    let handler: QueryHandler
    let resolver: Resolver

    init() {
        let clocks = StandingClock().clocks
        resolver = Resolver(
            routes: RouteTable(),
            standard: UpstreamGroup([upstream], health: HealthTable(clocks: clocks)),
            policy: TTLPolicy(),
            cache: cache,
            clocks: clocks
        )
        handler = QueryHandler(cache: cache, resolver: resolver, clocks: .system)
    }

    func store(
        _ name: String,
        ttl: UInt32 = 300,
        addresses: Int = 1,
        isAuthentic: Bool = false
    ) throws {
        let question = Question(name: try Name(name), type: .a)
        let records = (0..<addresses).map { index in
            Record(
                name: question.name,
                ttl: ttl,
                data: .a(IPv4Address(value: 0xC000_0200 + UInt32(index)))
            )
        }
        var answer = CachedAnswer(
            question: question,
            variant: .any,
            rcode: .noError,
            sections: try AnswerSections(question: question, answers: records),
            lifetime: ttl,
            source: .vendor,
            server: 1
        )
        answer.isAuthentic = isAuthentic
        cache.insert(answer, now: Clock.now)
    }

    var counted: QuerySums {
        var sums = QuerySums()
        handler.counters.add(to: &sums)
        return sums
    }
}

@ServiceLoop
final class StandingClock {
    private final class Timer: Cancellable {
        let end: Instant
        var action: (@ServiceLoop () -> Void)?

        init(_ end: Instant, _ action: @escaping @ServiceLoop () -> Void) {
            self.end = end
            self.action = action
        }

        func cancel() { action = nil }
    }

    private(set) var now = Clock.now
    private var timers: [Timer] = []

    var clocks: Clocks {
        Clocks(
            now: { ServiceLoop.assumeIsolated { self.now } },
            wallSeconds: { 0 },
            timer: { end, action in
                let timer = Timer(end, action)
                self.timers.append(timer)
                return timer
            }
        )
    }

    func advance(by duration: Duration) {
        now += duration
        let due = timers.filter { $0.end <= now }
        timers.removeAll { $0.end <= now }
        for timer in due { timer.action?() }
    }
}

func query(
    _ name: String,
    id: UInt16 = 1,
    type: RecordType = .a,
    _ change: (inout Message) -> Void = { _ in }
) throws -> [UInt8] {
    var header = Header(id: id)
    header.recursionDesired = true
    var message = Message(header: header)
    message.questions = [Question(name: try Name(name), type: type)]
    change(&message)
    return message.encoded()
}

func framed(_ message: [UInt8]) -> [UInt8] {
    [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
}

extension QueryHandler {
    func resolve(_ open: Open) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            resolve(open, Completion { continuation.resume(returning: $0) })
        }
    }
}
