// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Queue of names waiting for a vendor call; groups names into batches.
///
/// All names of a call request the same families. The oldest name goes first; the next names of its
/// families fill the call.
package struct BatchQueue: Sendable {
    /// Name and families to request; equal questions are queued once.
    package struct Question: Sendable, Hashable {
        package let name: Name
        package let families: Families

        package init(name: Name, families: Families) {
            self.name = name
            self.families = families
        }
    }

    /// Question with its sequence number.
    private struct Entry: Sendable {
        let question: Question
        let number: UInt64
    }

    /// Queued questions, with the sequence numbers of their valid entries.
    private var waiting: [Question: UInt64] = [:]

    /// Entries by families, oldest first; entries not in `waiting` were removed.
    private var lines: [Families: ArraySlice<Entry>] = [:]

    private var next: UInt64 = 0

    /// Number of queued questions.
    package var count: Int { waiting.count }

    package init() {}
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question unless it is queued.
    package mutating func add(_ question: Question) {
        guard waiting[question] == nil else { return }
        waiting[question] = next
        lines[question.families, default: []].append(Entry(question: question, number: next))
        next += 1
        tidy(question.families)
    }

    /// Removes a question.
    package mutating func remove(_ question: Question) {
        waiting[question] = nil
    }

    /// Removes and returns the names of the next call.
    ///
    /// - Parameters:
    ///   - fit: returns true if one call can carry the names; one name always fits.
    ///   - maySend: returns true if a question may be sent now; nil if all may.
    /// - Returns: nil if no queued question may be sent.
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

    /// Removes the oldest entry of a line, then any removed entries after it.
    private mutating func pop(_ families: Families) -> Entry? {
        guard let entry = lines[families]?.popFirst() else { return nil }
        waiting[entry.question] = nil
        dropTakenBack(families)
        return entry
    }

    /// Drops removed entries at the front of a line.
    private mutating func dropTakenBack(_ families: Families) {
        while let first = lines[families]?.first, waiting[first.question] != first.number {
            lines[families]?.removeFirst()
        }
    }

    /// Compacts a line, so that removed entries do not accumulate.
    private mutating func tidy(_ families: Families) {
        guard let line = lines[families], line.count > 2 * waiting.count + 64 else { return }
        lines[families] = line.filter { waiting[$0.question] == $0.number }[...]
    }
}
