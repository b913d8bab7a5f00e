// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Lookup of a shared answer, joined by all queries with the same key.
@ServiceLoop
final class FleetLookUp {
    let key: FleetKey
    let question: Fleet.Question
    let number: UInt64

    /// Keys of other values that also answer the question, such as the value with both families.
    var others: [FleetKey] = []

    var machine = LeaseMachine()

    var value: FleetValue?

    /// Expired value that this host read from Redis.
    var stale: FleetValue?

    /// Start of the vendor call of this host, by the Redis clock in milliseconds.
    var calledAt: Int64?

    private(set) var waitEnd: Instant

    let token: [UInt8]

    private var waiting: [Box] = []

    private final class Box {
        var completion: Completion<Fleet.Answer>?

        init(_ completion: consuming Completion<Fleet.Answer>) {
            self.completion = consume completion
        }
    }

    init(_ key: FleetKey, _ question: Fleet.Question, number: UInt64, waitEnd: Instant) {
        self.key = key
        self.question = question
        self.number = number
        self.waitEnd = waitEnd
        var random = SystemRandomNumberGenerator()
        token = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    var keys: [FleetKey] { [key] + others }

    var waits: Bool {
        switch machine.phase {
        case .reading, .claiming, .waiting: true
        case .calling, .done: false
        }
    }

    /// Adds a query to the lookup.
    ///
    /// If this host already calls the vendor, the query gets `call` without a ticket, and the
    /// vendor client merges the calls.
    func add(_ completion: consuming Completion<Fleet.Answer>, until end: Instant) {
        guard waits else { return completion(.call(nil)) }
        waiting.append(Box(completion))
        waitEnd = min(waitEnd, end)
    }

    func takeWaiting() -> [@ServiceLoop (Fleet.Answer) -> Void] {
        let boxes = waiting
        waiting = []
        return boxes.map { box in
            { answer in if let completion = box.completion.take() { completion(answer) } }
        }
    }

    /// Returns true if a value answers the question now.
    ///
    /// For a refresh (no client waits), the age of the value must be less than half of its TTL.
    func accepts(_ value: FleetValue, at now: Int64) -> Bool {
        let age = value.age(at: now)
        guard age < value.ttl else { return false }
        return question.patience != nil || 2 * UInt64(age) < UInt64(value.ttl)
    }
}
