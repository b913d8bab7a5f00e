// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Names that wait to be sent, and which of them go together.
///
/// Names of one call must want the same families.  Whoever waits longest goes first and takes
/// those behind it along, as many as a call can carry.
package struct BatchQueue: Sendable {
    /// What is asked: equal ones are one.
    package struct Question: Sendable, Hashable {
        package let name: Name
        package let families: Families

        package init(name: Name, families: Families) {
            self.name = name
            self.families = families
        }
    }

    /// A question and its place in the order of arrival.
    private struct Entry: Sendable {
        let question: Question
        let number: UInt64
    }

    /// Those that wait, with the number of the entry that stands for each.
    private var waiting: [Question: UInt64] = [:]

    /// The entries by families, oldest first; those not in `waiting` were taken back.
    private var lines: [Families: ArraySlice<Entry>] = [:]

    /// The number of the next entry.
    private var next: UInt64 = 0

    /// How many questions wait.
    package var count: Int { waiting.count }

    package init() {}
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question that does not wait yet.
    package mutating func add(_ question: Question) {
        guard waiting[question] == nil else { return }
        waiting[question] = next
        lines[question.families, default: []].append(Entry(question: question, number: next))
        next += 1
        tidy(question.families)
    }

    /// Takes a question back.
    package mutating func remove(_ question: Question) {
        waiting[question] = nil
    }

    /// The names of the next call.
    ///
    /// - Parameters:
    ///   - fit: whether one call can carry some names; one name always fits.
    ///   - maySend: whether a question may be sent now; nil if all may.
    /// - Returns: nil if no question waits that may be sent.
    package mutating func nextBatch(
        fit: ([Name]) -> Bool,
        maySend: ((Question) -> Bool)? = nil
    ) -> (names: [Name], families: Families)? {
        for families in lines.keys { dropTakenBack(families) }
        let firsts = lines.compactMap { families, line in
            line.first { waiting[$0.question] == $0.number && maySend?($0.question) ?? true }
                .map { (families: families, entry: $0) }
        }
        guard let (families, first) = firsts.min(by: { $0.entry.number < $1.entry.number }) else {
            return nil
        }
        waiting[first.question] = nil
        dropTakenBack(families)
        var names = [first.question.name]
        while let candidate = lines[families]?.first, maySend?(candidate.question) ?? true {
            names.append(candidate.question.name)
            guard fit(names) else {
                names.removeLast()
                break
            }
            _ = pop(families)
        }
        return (names, families)
    }

    /// Takes the oldest entry of a line, and makes the next one that waits its first.
    private mutating func pop(_ families: Families) -> Entry? {
        guard let entry = lines[families]?.popFirst() else { return nil }
        waiting[entry.question] = nil
        dropTakenBack(families)
        return entry
    }

    /// Makes the first entry of a line one that waits.
    private mutating func dropTakenBack(_ families: Families) {
        while let first = lines[families]?.first, waiting[first.question] != first.number {
            lines[families]?.removeFirst()
        }
    }

    /// Keeps questions that were taken back from piling up.
    private mutating func tidy(_ families: Families) {
        guard let line = lines[families], line.count > 2 * waiting.count + 64 else { return }
        lines[families] = line.filter { waiting[$0.question] == $0.number }[...]
    }
}
