// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Queue of names waiting for a vendor call; groups names into batches.
///
/// All names of a call request the same families. The oldest name of a client that need not wait
/// goes first; the next names of its families fill the call.
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

    /// Names of one client that may share a call.
    private struct Line: Hashable {
        let families: Families

        /// Nil for names of the daemon itself.
        let client: ClientNetwork?
    }

    /// Queued questions, with the sequence numbers of their valid entries.
    private var waiting: [Question: UInt64] = [:]

    /// Entries, oldest first.
    ///
    /// Entries not in `waiting` were removed. No line is empty.
    private var lines: [Line: ArraySlice<Entry>] = [:]

    private var next: UInt64 = 0

    /// Number of queued questions.
    package var count: Int { waiting.count }

    package init() {}
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question of `client` unless it is queued.
    package mutating func add(_ question: Question, of client: ClientNetwork? = nil) {
        guard waiting[question] == nil else { return }
        let line = Line(families: question.families, client: client)
        waiting[question] = next
        lines[line, default: []].append(Entry(question: question, number: next))
        next += 1
        tidy(line)
    }

    /// Removes a question.
    package mutating func remove(_ question: Question) {
        waiting[question] = nil
    }

    /// Removes and returns the names of the next call.
    ///
    /// The work is proportional to the number of clients with queued names.
    ///
    /// - Parameters:
    ///   - held: clients whose names must wait.
    ///   - fit: returns true if one call can carry the names; one name always fits.
    /// - Returns: nil if no queued question may be sent.
    package mutating func nextBatch(
        except held: Set<ClientNetwork> = [],
        fit: ([Name]) -> Bool
    ) -> (names: [Name], families: Families)? {
        guard let first = oldest(of: nil, except: held) else { return nil }
        let families = first.line.families
        var names = [first.entry.question.name]
        remove(first.entry, from: first.line)
        while let other = oldest(of: families, except: held) {
            names.append(other.entry.question.name)
            guard fit(names) else {
                names.removeLast()
                break
            }
            remove(other.entry, from: other.line)
        }
        return (names, families)
    }

    /// Returns the oldest question that may be sent, for `families` or, if nil, for any.
    private mutating func oldest(
        of families: Families?,
        except held: Set<ClientNetwork>
    ) -> (line: Line, entry: Entry)? {
        var oldest: (line: Line, entry: Entry)?
        var empty: [Line] = []
        for (line, entries) in lines where families.map({ $0 == line.families }) ?? true {
            if let client = line.client, held.contains(client) { continue }
            guard let first = entries.first(where: isWaiting) else {
                empty.append(line)
                continue
            }
            if let oldest, oldest.entry.number < first.number { continue }
            oldest = (line, first)
        }
        for line in empty { lines[line] = nil }
        return oldest
    }

    private func isWaiting(_ entry: Entry) -> Bool { waiting[entry.question] == entry.number }

    /// Removes an entry, and removed entries before it, from a line.
    private mutating func remove(_ entry: Entry, from line: Line) {
        waiting[entry.question] = nil
        // Taken out of the table, because a second reference would copy the entries.
        guard var entries = lines.removeValue(forKey: line) else { return }
        while let first = entries.first, !isWaiting(first) { entries.removeFirst() }
        if !entries.isEmpty { lines[line] = entries }
    }

    /// Compacts a line, so that removed entries do not accumulate.
    private mutating func tidy(_ line: Line) {
        guard let entries = lines[line], entries.count > 2 * waiting.count + 64 else { return }
        lines[line] = entries.filter(isWaiting)[...]
    }
}
