// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

// What one option cannot know: whether the options fit together.

extension Settings {
    /// Checks the settings that were read, as far as they could be.
    func check(_ reading: inout SettingsReading) {
        checkListeners(&reading)
        checkVendors(&reading)
        checkRoutes(&reading)
        checkUpstreams(&reading)
        checkCache(&reading)
        checkControl(&reading)
        checkMetrics(&reading)
        checkThatSomethingAnswers(&reading)
    }
}

// MARK: - Listeners

extension Settings {
    /// An open resolver must be meant, and a closed one on a public address is odd.
    private func checkListeners(_ reading: inout SettingsReading) {
        var seen: Set<SocketAddress> = []
        for (index, address) in listen.enumerated() {
            let place = reading.place(of: "listen[\(index)]")
            if address.port != 0, !seen.insert(address).inserted {
                reading.report(place, "`\(address)` is listened on twice")
            }
            guard !address.ip.isLoopback, !reading.has("allow") else { continue }
            if address.ip.isUnspecified {
                reading.report(
                    place,
                    "`\(address)` listens on all addresses of the machine without `allow`",
                    hint: "say who may ask, for example allow: [\"127.0.0.0/8\", \"192.0.2.0/24\"]"
                )
            } else {
                reading.warn(
                    place,
                    "`\(address)` is listened on, but only this machine may ask",
                    hint: "say who may ask with `allow`"
                )
            }
        }
        for (index, block) in allow.enumerated() where block.length == 0 {
            reading.warn(
                reading.place(of: "allow[\(index)]"),
                "`\(block)` lets everybody ask, which attackers use to flood others"
            )
        }
    }
}

// MARK: - Answers

extension Settings {
    /// Something can be answered, and if not everything can, that is said.
    private func checkThatSomethingAnswers(_ reading: inout SettingsReading) {
        guard reading.leftOut.isEmpty, !reading.isDamaged(""), !reading.isDamaged("upstreams"),
            !reading.isDamaged("routes"),
            upstreams.allSatisfy(\.only)
        else { return }
        let place = reading.place(of: "upstreams")
        if routes.isEmpty {
            reading.report(
                place,
                "nothing can be answered: there are neither routes nor upstreams for all names",
                hint: "for example upstreams: [{name: isp, url: \"udp://192.0.2.1\"}]"
            )
        } else {
            reading.warn(place, "names without a route cannot be answered: no upstream serves all")
        }
    }
}

// MARK: - Cache, control and metrics

extension Settings {
    /// Minima lie below their maxima.
    private func checkCache(_ reading: inout SettingsReading) {
        let pairs = [
            ("cache.minimum-ttl", cache.minimumTTL, "cache.maximum-ttl", cache.maximumTTL),
            (
                "cache.negative-ttl.minimum", cache.negativeTTL.minimum,
                "cache.negative-ttl.maximum", cache.negativeTTL.maximum
            ),
        ]
        for (minimum, low, maximum, high) in pairs where low > high {
            guard !reading.isDamaged(minimum), !reading.isDamaged(maximum) else { continue }
            reading.report(
                reading.place(of: reading.has(minimum) ? minimum : maximum),
                "`\(minimum)` is greater than `\(maximum)`"
            )
        }
    }

    /// Who can write to the control socket can pause vendors and empty the cache.
    private func checkControl(_ reading: inout SettingsReading) {
        guard control.mode & 0o002 != 0 else { return }
        reading.warn(
            reading.place(of: "control.mode"),
            "every user of this machine may control httpdnsd"
        )
    }

    /// A place can be had once.
    private func checkMetrics(_ reading: inout SettingsReading) {
        var seen: Set<MetricsPlace> = []
        for (index, place) in metrics.listen.enumerated() {
            let key = "metrics.listen[\(index)]"
            if case .address(let address) = place, address.port != 0, listen.contains(address) {
                reading.report(
                    reading.place(of: key),
                    "`\(place)` is listened on for queries",
                    hint: "give it another port, such as \(MetricsPlace.standardPort)"
                )
            } else if case .path(control.socket) = place {
                reading.report(reading.place(of: key), "`\(place)` is the control socket")
            } else if !place.isAnyPort, !seen.insert(place).inserted {
                reading.report(reading.place(of: key), "`\(place)` is listened on twice")
            }
        }
    }
}
