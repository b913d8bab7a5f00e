// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Queue that serves clients in round-robin order, and each client's elements in arrival order.
struct ClientQueue<Element> {
    private final class Line {
        let client: ClientNetwork
        private(set) var elements = FirstInFirstOut<Element>()
        var weight = 0

        init(_ client: ClientNetwork) { self.client = client }

        /// Calls `body` with the elements in a local variable.
        ///
        /// Swift does not check exclusive access to a local variable at run time.
        func change<Result>(
            _ body: (inout FirstInFirstOut<Element>) -> Result
        ) -> Result {
            var changed = FirstInFirstOut<Element>()
            swap(&changed, &elements)
            defer { swap(&changed, &elements) }
            return body(&changed)
        }
    }

    /// Includes `latest`, which may be empty.
    private var lines: [ClientNetwork: Line] = [:]

    private var turns = FirstInFirstOut<Line>()

    /// Not in `turns`.
    private var current: Line?
    private var left = 0

    /// Line of the latest `append`; the next `append` is often for the same client.
    private var latest: Line?

    private(set) var count = 0

    /// Maximum elements of one client per turn.
    private let quantum: Int

    init(quantum: Int = 1) { self.quantum = quantum }

    private(set) var weight = 0

    /// Adds an element if `admits` returns true for the number and weight of the client's elements.
    @discardableResult
    mutating func append(
        _ element: Element,
        of client: ClientNetwork,
        weight: Int = 0,
        if admits: (_ count: Int, _ weight: Int) -> Bool = { _, _ in true }
    ) -> Bool {
        let line = line(of: client)
        guard admits(line.elements.count, line.weight) else { return false }
        if line.elements.count == 0 { turns.append(line) }
        line.change { $0.append(element) }
        line.weight += weight
        count += 1
        self.weight += weight
        return true
    }

    private mutating func line(of client: ClientNetwork) -> Line {
        if let latest {
            if latest.client == client { return latest }
            if latest.elements.count == 0 { lines[latest.client] = nil }
        }
        let line = lines[client] ?? Line(client)
        lines[client] = line
        latest = line
        return line
    }

    /// Removes the next element; `weighing` must return the weight that `append` got.
    mutating func pop(weighing: (Element) -> Int = { _ in 0 }) -> Element? {
        guard let line = current ?? turns.pop(), let element = line.change({ $0.pop() }) else {
            return nil
        }
        left = (current == nil ? quantum : left) - 1
        let weight = weighing(element)
        count -= 1
        self.weight -= weight
        line.weight -= weight
        if line.elements.count == 0 {
            if line !== latest { lines[line.client] = nil }
            current = nil
        } else if left == 0 {
            turns.append(line)
            current = nil
        } else {
            current = line
        }
        return element
    }
}

private struct FirstInFirstOut<Element> {
    private var leaving: [Element] = []

    private var entered: [Element] = []

    var count: Int { leaving.count + entered.count }

    mutating func append(_ element: Element) { entered.append(element) }

    mutating func pop() -> Element? {
        if leaving.isEmpty {
            swap(&leaving, &entered)
            leaving.reverse()
        }
        return leaving.popLast()
    }
}
