// SPDX-License-Identifier: Apache-2.0
package import Net

@ServiceLoop
package final class TestOperation<Value: Sendable> {
    package fileprivate(set) var value: Value?

    package let start: Instant
    package fileprivate(set) var end: Instant?

    fileprivate init(start: Instant) { self.start = start }
}

package struct NothingHappens: Error {
    package init() {}
}

extension Simulation {
    package func begin<Value: Sendable>(
        _ body: @escaping @Sendable @ServiceLoop () async -> Value
    ) -> TestOperation<Value> {
        let operation = TestOperation<Value>(start: now)
        ServiceLoop.task { [self] in
            let value = await body()
            operation.end = now
            operation.value = value
        }
        return operation
    }

    /// Advances the time until `operation` has a result, but at most by 60 s.
    package func value<Value: Sendable>(of operation: TestOperation<Value>) async throws -> Value {
        await drive(until: now + .seconds(60)) { operation.value != nil }
        guard let value = operation.value else { throw NothingHappens() }
        return value
    }
}

extension Duration {
    package var milliseconds: Int {
        Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
