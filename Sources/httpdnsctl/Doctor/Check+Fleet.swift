// SPDX-License-Identifier: Apache-2.0
import Control

extension Check {
    static let fleet = Check("fleet") { machine in
        guard let fleet = machine.status?.fleet, fleet.state != .off else { return [] }
        guard fleet.state == .alone else {
            let members = fleet.members ?? 1
            let machines = Units.count(members, "machine", "machines")
            let what = "connected to \(fleet.server ?? "?"), \(machines)"
            return [
                members > 1
                    ? .ok(what)
                    : .warning(
                        "\(what): no other machine of the fleet is known",
                        fix: "use a different fleet.name and the same fleet.secret on each machine"
                    )
            ]
        }
        let error = fleet.lastError ?? "not connected yet"
        return .warning("the Redis server is not used: \(error)", fix: remedy(error))
    }

    private static func remedy(_ error: String) -> String {
        let remedies = [
            ("NOAUTH", "set fleet.user and fleet.password"),
            ("WRONGPASS", "correct fleet.user and fleet.password"),
            (
                "NOPERM",
                "use ACL SETUSER to give the Redis user the rules in httpdnsd.yaml(5)"
            ),
            ("READONLY", "list the master first in fleet.servers, or use fleet.sentinel"),
            ("OOM", "raise maxmemory of the Redis server, or set maxmemory-policy volatile-ttl"),
            ("MISCONF", "see the log of the Redis server: it cannot save to its disk"),
            ("LOADING", "the Redis server is loading its data: retry later"),
            ("TLS", "check fleet.tls, fleet.tls-name and fleet.ca-file"),
            ("does not answer in time", "check the load of the Redis server and the network to it"),
            ("refused", "start the Redis server, or correct fleet.servers"),
        ]
        return remedies.first { error.contains($0.0) }?.1 ?? "see the log of the Redis server"
    }
}
