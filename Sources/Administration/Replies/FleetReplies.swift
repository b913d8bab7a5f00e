// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Fleet
internal import Net
internal import Resolver

extension FleetStatus {
    @ServiceLoop
    init(_ exchange: FleetExchange?, _ clocks: Clocks) {
        self.init()
        guard let fleet = exchange?.fleet else { return }
        let known = fleet.state
        state = known.isConnected ? .connected : .alone
        server = known.server.map { "\($0)" }
        let age = (clocks.now() - known.since).components.seconds
        setSince(clocks.wallSeconds() - age)
        lastError = known.lastError
        members = known.members
    }

    var problem: String? {
        guard state == .alone else { return nil }
        let why = lastError.map { ": \($0)" } ?? ""
        return "fleet: the Redis server is not used\(why); this machine calls the vendors itself"
    }
}

extension FleetStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] {
        [
            \.reads, \.found, \.notFound, \.led, \.waited, \.waitedInVain, \.published, \.received,
            \.timeouts, \.rejected, \.errors,
        ]
    }

    init(_ statistics: FleetStatistics) {
        self.init()
        reads = statistics.reads
        found = statistics.found
        notFound = statistics.notFound
        led = statistics.led
        waited = statistics.waited
        waitedInVain = statistics.waitedInVain
        published = statistics.published
        received = statistics.received
        timeouts = statistics.timeouts
        rejected = statistics.rejected
        errors = statistics.errors
    }
}
