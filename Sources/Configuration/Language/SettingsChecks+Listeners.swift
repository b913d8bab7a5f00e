// SPDX-License-Identifier: Apache-2.0
internal import Control
import DNSWire
package import Net

// MARK: - Listeners

extension Settings {
    func checkListeners(_ reading: inout SettingsReading) {
        let units = reading.has("listen") ? reading.environment.serviceUnits() : nil
        for (index, address) in listen.enumerated() {
            let place = reading.place(of: "listen[\(index)]")
            if let other = listen[..<index].first(where: address.overlaps), address.port != 0 {
                reading.reportOverlap(place, "\(address)", "\(other)")
            } else if let units, !units.canListen(on: address) {
                warnOfUnits(address, at: place, &reading)
            } else if let passed = units?.passedAddresses.first(where: {
                $0 != address && address.overlaps($0)
            }) {
                reading.warn(
                    place,
                    "httpdnsd.service cannot listen on `\(address)`: "
                        + "\(ServiceUnits.socket(for: passed)) contains `\(passed)`; "
                        + SettingsComplaint.outage,
                    hint: "list single addresses; or run `systemctl edit "
                        + "\(ServiceUnits.socket(for: passed))` and add below [Socket] the lines "
                        + "ListenDatagram= (empty) and ListenStream= (empty)"
                )
            }
            if address.port == 0, reading.environment.passesOverCredentials {
                reading.warn(
                    place,
                    "`\(address)`: the kernel selects a port at each start; clients do not know it",
                    hint: "use port 53"
                )
            }
            reading.warnIfNoInterface(of: address, place)
            reading.warnIfAbsent(address, place)
            if let meant = meantWithPort(address, reading.environment) {
                reading.warn(
                    place,
                    "`\(address.host)` is not an address of this machine",
                    hint: "did you mean `\(meant)`?"
                )
            }
            guard !address.ip.isLoopback, !reading.has("allow") else { continue }
            if address.ip.isUnspecified {
                reading.report(
                    place,
                    "`\(address)` listens on all addresses of the machine, but `allow` is not set",
                    hint: "list your clients, such as allow: [\"127.0.0.0/8\", \"192.0.2.0/24\"]"
                )
            } else {
                reading.warn(
                    place,
                    "`\(address)` refuses all queries, as `allow` is not set",
                    hint: "list the networks of your clients, and 127.0.0.0/8 for this machine"
                )
            }
        }
        if let text = refusal(at: reading.environment.serviceUnits()?.passedAddresses ?? []) {
            reading.warn(YAMLPlace(file: 0, line: 0, column: 0), text)
        }
        if let workers, workers * listen.count > SettingsLimits.allWorkers, !listen.isEmpty {
            let each = SettingsLimits.workers(workers, forEachOf: listen.count, besides: 0)
            reading.warn(
                reading.place(of: "workers"),
                "`workers` (\(workers)) applies to each of the \(listen.count) addresses in "
                    + "`listen`; the total exceeds the limit of \(SettingsLimits.allWorkers), so "
                    + "each address gets \(each) workers",
                hint: "reduce `workers`; one worker is enough for most machines"
            )
        }
        if reading.has("allow"), let refused = refusedLoopback {
            reading.warn(
                reading.place(of: "allow"),
                "`allow` does not contain \(refused): programs on this machine get REFUSED",
                hint: "add \"\(refused)\" to `allow`"
            )
        }
        for (index, block) in allow.enumerated() where block.length == 0 {
            reading.warn(
                reading.place(of: "allow[\(index)]"),
                "`\(block)` makes this an open resolver, which attackers use to flood others",
                hint: "list the networks of your clients instead"
            )
        }
    }

    /// Describes the first address of the socket units that refuses all queries from other hosts; nil
    /// for none.
    package func refusal(at passed: [SocketAddress]) -> String? {
        guard allow.allSatisfy(\.address.isLoopback) else { return nil }
        let refusing = passed.filter { !$0.ip.isLoopback && !listen.contains($0) }
        return refusing.min { "\($0)" < "\($1)" }.map { address in
            "`\(address)` of the socket unit refuses all queries, as `allow` has only loopback "
                + "addresses: add the networks of your clients to `allow`"
        }
    }

    private func warnOfUnits(
        _ address: SocketAddress,
        at place: YAMLPlace,
        _ reading: inout SettingsReading
    ) {
        reading.warn(
            place,
            "httpdnsd.service cannot listen on \(address): it has no permission for this port, and "
                + "\(ServiceUnits.socket(for: address)) does not contain the address; "
                + SettingsComplaint.outage,
            hint: ServiceUnits.advice(for: address) + "; or use another port"
        )
    }

    /// First loopback source address that `allow` does not contain; nil for none.
    ///
    /// Queries from this machine to a listen address have such a source address.
    private var refusedLoopback: IPAddress? {
        for address in listen where address.ip.isUnspecified || address.ip.isLoopback {
            let source = address.ip.loopbackSource
            if !allow.contains(where: { $0.contains(source) }) { return source }
        }
        return nil
    }

    /// An address such as `fd00::1:53` probably means `[fd00::1]:53`, unless this machine has the
    /// address `fd00::1:53`.
    private func meantWithPort(
        _ address: SocketAddress,
        _ environment: SettingsEnvironment
    ) -> String? {
        guard address.port == Self.standardPort, !environment.isLocal(address),
            let meant = SocketAddress.bracketed(address.host),
            let port = SocketAddress(meant)?.port, port == Self.standardPort || port >= 1000
        else { return nil }
        return meant
    }

    private static let standardPort: UInt16 = 53
}

// MARK: - Metrics

extension Settings {
    func checkMetrics(_ reading: inout SettingsReading) {
        checkGroup(metrics.group, "metrics.group", &reading)
        for (index, place) in metrics.listen.enumerated() {
            let key = "metrics.listen[\(index)]"
            if case .address(let address) = place {
                reading.warnIfNoInterface(of: address, reading.place(of: key))
                reading.warnIfAbsent(address, reading.place(of: key))
            }
            if case .address(let address) = place, address.port != 0,
                let other = listen.first(where: address.overlaps)
            {
                reading.report(
                    reading.place(of: key),
                    other == address
                        ? "`\(place)` is already an address in `listen`"
                        : "`\(place)` overlaps `\(other)` in `listen`",
                    hint: "use another port, such as \(MetricsPlace.standardPort)"
                )
            } else if case .path(control.socket) = place {
                reading.report(reading.place(of: key), "`\(place)` is already the control socket")
            } else if let other = metrics.listen[..<index].first(where: place.overlaps) {
                reading.reportOverlap(reading.place(of: key), "\(place)", "\(other)")
            } else if case .path(let path) = place {
                reading.warnIfNoSocket(
                    at: path,
                    reading.place(of: key),
                    effect: "the daemon would serve no metrics at this path"
                )
            }
        }
    }
}

extension SettingsReading {
    mutating func warnIfAbsent(_ address: SocketAddress, _ place: YAMLPlace) {
        guard environment.isAbsent(address) else { return }
        warn(
            place,
            "no interface has the address `\(address.host)` now; the daemon uses the address when an"
                + " interface gets it",
            hint: "`ip address` lists the addresses"
        )
    }

    mutating func warnIfNoInterface(of address: SocketAddress, _ place: YAMLPlace) {
        guard environment.lacksInterface(address), let name = address.interfaceName else { return }
        warn(
            place,
            "`\(address)`: the interface `\(name)` does not exist; the daemon uses the address when"
                + " the interface exists",
            hint: "`ip link` lists the interfaces"
        )
    }

    fileprivate mutating func reportOverlap(_ place: YAMLPlace, _ address: String, _ other: String)
    {
        guard address != other else { return report(place, "duplicate address `\(address)`") }
        report(
            place,
            "`\(address)` and `\(other)` overlap: the daemon cannot listen on both",
            hint: "remove one of them"
        )
    }
}
