// SPDX-License-Identifier: Apache-2.0
package import Net

/// Something that was begun, and what came of it.
@ServiceLoop
package final class Errand<Value: Sendable> {
    /// What came of it; nil until then.
    package fileprivate(set) var value: Value?

    /// When it was begun, and when it ended.
    package let start: ContinuousClock.Instant
    package fileprivate(set) var end: ContinuousClock.Instant?

    fileprivate var task: Task<Void, Never>?

    fileprivate init(start: ContinuousClock.Instant) {
        self.start = start
    }

    /// Nobody wants it any more.
    package func cancel() { task?.cancel() }
}

/// What is waited for will not come.
package struct NothingHappens: Error {
    package init() {}
}

extension World {
    /// Begins something; time does not pass for it yet.
    package func begin<Value: Sendable>(
        _ body: @escaping @Sendable @ServiceLoop () async -> Value
    ) -> Errand<Value> {
        let errand = Errand<Value>(start: now)
        errand.task = ServiceLoop.task { [self] in
            let value = await body()
            errand.end = now
            errand.value = value
        }
        return errand
    }

    /// What comes of an errand, as soon as it has; waits a minute at most.
    package func value<Value: Sendable>(of errand: Errand<Value>) async throws -> Value {
        await drive(until: now + .seconds(60)) { errand.value != nil }
        guard let value = errand.value else { throw NothingHappens() }
        return value
    }
}

extension Duration {
    /// Whole milliseconds.
    package var milliseconds: Int {
        Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
