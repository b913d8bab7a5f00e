// SPDX-License-Identifier: Apache-2.0
package import Net

/// Which server of a vendor is asked, and which one after it: events in, decisions out.
///
/// One server is current and sticky, so that its connection stays warm.  A call that fails on it
/// goes on to the next server at once, each server at most once; only failures in a row move the
/// current one.  Knows no clock and no network: `VendorClient` asks and reports.
package struct EndpointPool: Sendable, Hashable {
    /// One server and what is known of it.
    private struct Endpoint: Sendable, Hashable {
        let address: SocketAddress

        /// Failures since the last success, or since it became current.
        var failuresInRow = 0
    }

    /// The servers in the order of the settings; never empty.
    private var endpoints: [Endpoint]

    /// Failures in a row that make the next server current.
    private let failuresBeforeSwitch: Int

    /// The index of the server that is asked first; always one of `endpoints`.
    package private(set) var current = 0

    /// Makes a pool whose first server is current.
    ///
    /// - Precondition: there is a server, and `failuresBeforeSwitch` is at least 1.
    package init(servers: [SocketAddress], failuresBeforeSwitch: Int) {
        precondition(!servers.isEmpty, "a vendor without servers cannot be asked")
        precondition(failuresBeforeSwitch >= 1, "at least one failure makes a switch")
        endpoints = servers.map { Endpoint(address: $0) }
        self.failuresBeforeSwitch = failuresBeforeSwitch
    }

    /// How many servers there are.
    package var count: Int { endpoints.count }

    /// The address of the server at `index`.
    package func address(at index: Int) -> SocketAddress { endpoints[index].address }
}

// MARK: - One call

extension EndpointPool {
    /// The servers that one call has not tried yet.
    package struct Course: Sendable, Hashable {
        /// Indices of servers, the next one first.
        fileprivate var untried: ArraySlice<Int>
    }

    /// Starts a call: first the current server, then those after it, round the end.
    package func begin() -> Course {
        Course(untried: (Array(current..<count) + Array(0..<current))[...])
    }

    /// The server to try next.
    ///
    /// - Returns: nil when the call has tried them all.
    package func next(in course: inout Course) -> Int? {
        course.untried.popFirst()
    }
}

// MARK: - Events

extension EndpointPool {
    /// What a report made the pool do.
    package enum Change: Sendable, Hashable {
        /// Another server is current from now on.
        case switched(from: Int, to: Int)
    }

    /// The server at `index` gave an answer, be it an empty one.
    package mutating func succeeded(_ index: Int) {
        endpoints[index].failuresInRow = 0
    }

    /// The server at `index` gave none.
    ///
    /// Many calls can fail on one server at the same time; only while it is current can their
    /// failures move the pool on, so that together they cause one switch and not several.
    package mutating func failed(_ index: Int) -> Change? {
        endpoints[index].failuresInRow += 1
        guard index == current, count > 1,
            endpoints[index].failuresInRow >= failuresBeforeSwitch
        else { return nil }
        current = (index + 1) % count
        // Its earlier failures were those of second choices; it starts afresh.
        endpoints[current].failuresInRow = 0
        return .switched(from: index, to: current)
    }
}
