// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Queue that serves the clients in turn, and the elements of each client in order of arrival.
struct ClientQueue<Element> {
    /// Elements of one client, and the sum of their weights.
    private struct Line {
        var elements = FirstInFirstOut<Element>()
        var weight = 0
    }

    private var lines: [ClientNetwork: Line] = [:]

    /// The clients of `lines`, the next one first; each line has elements.
    private var turns = FirstInFirstOut<ClientNetwork>()

    private(set) var count = 0

    /// Sum of the weights of all elements.
    private(set) var weight = 0

    /// Returns the number and the total weight of the client's elements.
    func held(by client: ClientNetwork) -> (count: Int, weight: Int) {
        guard let line = lines[client] else { return (0, 0) }
        return (line.elements.count, line.weight)
    }

    mutating func append(_ element: Element, of client: ClientNetwork, weight: Int = 0) {
        if lines[client] == nil { turns.append(client) }
        lines[client, default: Line()].elements.append(element)
        lines[client]?.weight += weight
        count += 1
        self.weight += weight
    }

    /// Removes the next element; `weighing` returns the weight with which it was added.
    mutating func pop(weighing: (Element) -> Int = { _ in 0 }) -> Element? {
        guard let client = turns.pop(), let element = lines[client]?.elements.pop() else {
            return nil
        }
        let weight = weighing(element)
        count -= 1
        self.weight -= weight
        lines[client]?.weight -= weight
        if lines[client]?.elements.count == 0 {
            lines[client] = nil
        } else {
            turns.append(client)
        }
        return element
    }
}

/// Queue of one line; a removed element is released at once.
private struct FirstInFirstOut<Element> {
    /// The oldest elements, in reverse order.
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
