// SPDX-License-Identifier: Apache-2.0
internal import Control

extension MetricsReport {
    func writeFleet(to text: inout Exposition) {
        guard fleet.state != .off, let stats = stats.fleet else { return }
        let numbers: [Number] = [
            (
                "fleet_connected", .gauge, "1 if vendors' answers are shared with other machines",
                fleet.state == .connected
            ),
            (
                "fleet_members", .gauge,
                "Machines of the fleet that were active in the last minute",
                fleet.members ?? 0
            ),
            ("fleet_led", .counter, "Vendor calls made for all machines", stats.led),
            ("fleet_waited", .counter, "Waits for the call of another machine", stats.waited),
            (
                "fleet_waited_in_vain", .counter, "Waits that ended without an answer",
                stats.waitedInVain
            ),
            ("fleet_published", .counter, "Answers shared by this machine", stats.published),
            (
                "fleet_received", .counter, "Answers received in messages of other machines",
                stats.received
            ),
            ("fleet_timeouts", .counter, "Timeouts of the Redis server", stats.timeouts),
            ("fleet_rejected", .counter, "Invalid values and messages, ignored", stats.rejected),
            ("fleet_errors", .counter, "Refused commands and lost connections", stats.errors),
        ]
        Self.write(numbers, to: &text)
        text.family("httpdnsd_fleet_reads", .counter, "Reads of shared answers by result") {
            $0.add(["result": "found"], stats.found)
            $0.add(["result": "not-found"], stats.notFound)
        }
    }
}
