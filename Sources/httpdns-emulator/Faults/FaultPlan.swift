// SPDX-License-Identifier: Apache-2.0
import Locks

final class FaultPlan: Sendable {
    /// `seen` counts the calls that fulfilled the name and path conditions of the fault.
    private struct Entry {
        var fault: Fault
        var seen = 0
    }

    private struct State {
        var entries: [Entry] = []
        var die: Die
    }

    private let state: Lock<State>

    /// The seed determines which calls the condition `probability` selects.
    init(_ faults: [Fault], seed: UInt64) {
        state = Lock(State(entries: faults.map { Entry(fault: $0) }, die: Die(state: seed)))
    }

    func replace(with faults: [Fault]) {
        state.withLock { $0.entries = faults.map { Entry(fault: $0) } }
    }

    var texts: [String] { state.withLock { $0.entries.map(\.fault.text) } }

    /// Increments `seen` of each fault whose name and path match; returns the faults to apply.
    ///
    /// `names` must be in lower case.
    func firing(path: String, names: [String], isLookup: Bool) -> [Fault] {
        state.withLock { state in
            var firing: [Fault] = []
            for index in state.entries.indices {
                let conditions = state.entries[index].fault.conditions
                var concerned = isLookup
                var named = true
                for case .path(let wanted) in conditions { concerned = wanted == path }
                for case .name(let wanted) in conditions where !names.contains(wanted) {
                    named = false
                }
                guard concerned, named else { continue }

                state.entries[index].seen += 1
                let seen = state.entries[index].seen
                let happens = conditions.allSatisfy { condition in
                    switch condition {
                    case .every(let number): seen.isMultiple(of: number)
                    case .first(let number): seen <= number
                    case .probability(let share): state.die.next() < share
                    case .name, .path: true
                    }
                }
                if happens { firing.append(state.entries[index].fault) }
            }
            return firing
        }
    }
}

private struct Die {
    var state: UInt64

    mutating func next() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return Double(mixed >> 11) / Double(UInt64(1) << 53)
    }
}
