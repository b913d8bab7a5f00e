// SPDX-License-Identifier: Apache-2.0
internal import Control

extension MetricsReport {
    func writeFleet(to text: inout Exposition) {
        guard fleet.state != .off, let stats = stats.fleet else { return }
        let numbers: [Number] = [
            (
                "fleet_connected", .gauge, "1 if connected to the Redis server of the fleet",
                fleet.state == .connected ? 1 : 0
            ),
            (
                "fleet_members", .gauge,
                "Machines of the fleet that were active in the last minute",
                fleet.members ?? 0
            ),
            ("fleet_led", .counter, "Vendor calls that this machine made for the fleet", stats.led),
            (
                "fleet_waited", .counter,
                "Lookups that waited for the vendor call of another machine", stats.waited
            ),
            (
                "fleet_waited_in_vain", .counter,
                "Lookups that waited for another machine, but did not get its answer in time",
                stats.waitedInVain
            ),
            ("fleet_published", .counter, "Answers shared by this machine", stats.published),
            (
                "fleet_received", .counter, "Answers received in messages of other machines",
                stats.received
            ),
            (
                "fleet_timeouts", .counter, "Requests that the Redis server did not answer in time",
                stats.timeouts
            ),
            (
                "fleet_rejected", .counter,
                "Ignored values and messages: invalid, forged, replayed or older than a flush",
                stats.rejected
            ),
            (
                "fleet_errors", .counter,
                "Commands that the Redis server refused, and failed connections to it",
                stats.errors
            ),
        ]
        Self.write(numbers, to: &text)
        text.family("httpdnsd_fleet_reads", .counter, "Reads of shared answers by result") {
            $0.add(["result": "found"], stats.found)
            $0.add(["result": "not-found"], stats.notFound)
        }
    }
}
