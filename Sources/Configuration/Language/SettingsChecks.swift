// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

extension Settings {
    func check(_ reading: inout SettingsReading) {
        checkListeners(&reading)
        checkVendors(&reading)
        checkRoutes(&reading)
        checkUpstreams(&reading)
        checkFleet(&reading)
        checkFamilies(&reading)
        checkTranslation(&reading)
        checkCache(&reading)
        checkControl(&reading)
        checkHosts(&reading)
        checkMetrics(&reading)
        checkThatSomethingAnswers(&reading)
    }
}

// MARK: - Listeners

extension Settings {
    private func checkListeners(_ reading: inout SettingsReading) {
        var seen: Set<SocketAddress> = []
        for (index, address) in listen.enumerated() {
            let place = reading.place(of: "listen[\(index)]")
            if address.port != 0, !seen.insert(address).inserted {
                reading.report(place, "duplicate address `\(address)`")
            }
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
        if let workers, workers * listen.count > SettingsLimits.allWorkers, !listen.isEmpty {
            let each = SettingsLimits.workers(workers, forEachOf: listen.count, besides: 0)
            reading.warn(
                reading.place(of: "workers"),
                "`workers` (\(workers)) for each of \(listen.count) addresses in `listen` exceeds "
                    + "the limit of \(SettingsLimits.allWorkers) in total: each address gets \(each)",
                hint: "reduce `workers`; one is enough for most machines"
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

    /// First loopback address from which local programs send queries, but which `allow` lacks.
    private var refusedLoopback: IPAddress? {
        for address in listen where address.ip.isUnspecified || address.ip.isLoopback {
            let source = address.ip.loopbackSource
            if !allow.contains(where: { $0.contains(source) }) { return source }
        }
        return nil
    }

    /// Returns the address and port that the operator probably meant; nil if there is none.
    ///
    /// For example, `fd00::1:53` without brackets means `[fd00::1]:53`, unless this machine has the
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

// MARK: - Answers

extension Settings {
    private func checkThatSomethingAnswers(_ reading: inout SettingsReading) {
        guard reading.leftOut.isEmpty, !reading.isDamaged(""), !reading.isDamaged("upstreams"),
            !reading.isDamaged("routes"),
            upstreams.allSatisfy(\.only)
        else { return }
        let place = reading.place(of: "upstreams")
        if routes.isEmpty {
            reading.report(
                place,
                "no name can be resolved: there is no route, and "
                    + (upstreams.isEmpty
                        ? "no upstream" : "each upstream has `only`, so it serves only routes"),
                hint: "add an upstream\(upstreams.isEmpty ? "" : " without `only`"), such as"
                    + " upstreams: [{name: isp, url: \"udp://192.0.2.1\"}]"
            )
        } else {
            reading.warn(place, "names without a route cannot be resolved: no upstream serves them")
        }
    }
}

// MARK: - Cache, control and metrics

extension Settings {
    private func checkFamilies(_ reading: inout SettingsReading) {
        guard answers.a == .suppress, answers.aaaa == .suppress else { return }
        reading.report(
            reading.place(of: "answers.a"),
            "`answers.a` and `answers.aaaa` are both `suppress`: no name would have an address",
            hint: "suppress only the family that the network lacks"
        )
    }

    private func checkTranslation(_ reading: inout SettingsReading) {
        guard nat64 == .off, dns64 != .off, reading.has("dns64") else { return }
        reading.warn(
            reading.place(of: "dns64"),
            "`dns64` has no effect, because `nat64` is `off`",
            hint: "set `nat64` to `auto` or a prefix, or remove `dns64`"
        )
    }

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
        checkCacheSize(&reading)
        guard case .file(let path) = cache.snapshot else { return }
        guard !reading.environment.isDirectory(path) else {
            return reading.report(
                reading.place(of: "cache.snapshot"),
                "\(path) is a directory",
                hint: "add a file name, for example \(path)/cache.snapshot"
            )
        }
        let directory = Self.directory(of: path)
        guard !reading.environment.mayBeDirectory(directory) else { return }
        reading.warn(
            reading.place(of: "cache.snapshot"),
            "the directory \(directory) does not exist: the cache will not be saved",
            hint: "create the directory for the daemon's user, or use `auto`"
        )
    }

    /// Warns if a cache larger than the default is too large for the memory limit of the service.
    private func checkCacheSize(_ reading: inout SettingsReading) {
        let needed = 2 * cache.size + CacheSettings.otherMemory
        guard cache.size > CacheSettings().size, let limit = reading.environment.memoryLimit(),
            limit < needed
        else { return }
        let mebibytes = (needed + 1 << 20 - 1) >> 20
        reading.warn(
            reading.place(of: "cache.size"),
            "`cache.size` is too large for the memory limit of this service (\(limit >> 20) MiB): "
                + "the kernel may kill the daemon",
            hint: "set MemoryMax=\(mebibytes)M with `systemctl edit httpdnsd`, or reduce the size"
        )
    }

    /// Directory of an absolute path.
    private static func directory(of path: String) -> String {
        let parent = path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex).dropLast()
        return parent.isEmpty ? "/" : String(parent)
    }

    private func checkControl(_ reading: inout SettingsReading) {
        checkGroup(control.group, "control.group", &reading)
        checkControlSocket(&reading)
        guard control.mode & 0o002 != 0 else { return }
        reading.warn(
            reading.place(of: "control.mode"),
            "every user of this machine may connect to the control socket",
            hint: "set \"0660\", and add the administrators to the group `\(control.group)`"
        )
    }

    private func checkControlSocket(_ reading: inout SettingsReading) {
        guard reading.has("control.socket"), !reading.isDamaged("control.socket") else { return }
        let (path, directory) = (control.socket, Self.directory(of: control.socket))
        let effect = "the daemon would run without its control socket"
        if !reading.environment.mayBeSocket(path) {
            reading.warn(
                reading.place(of: "control.socket"),
                "\(path) is a file, but not a socket: \(effect)",
                hint: "remove the file, or use another path"
            )
        } else if directory != Self.directory(of: ControlSettings().socket),
            !reading.environment.mayBeDirectory(directory)
        {
            // No warning for the default socket, because systemd creates its directory when the
            // service starts.
            reading.warn(
                reading.place(of: "control.socket"),
                "the directory \(directory) does not exist: \(effect)",
                hint: "create the directory for the daemon's user, or use "
                    + ControlSettings().socket
            )
        }
    }

    private func checkGroup(_ group: String?, _ path: String, _ reading: inout SettingsReading) {
        guard let group, reading.has(path), !reading.isDamaged(path),
            !reading.environment.mayBeGroup(group)
        else { return }
        reading.warn(
            reading.place(of: path),
            "`\(path)`: there is no group `\(group)` in /etc/group; the socket keeps the group of"
                + " the daemon",
            hint: "create the group, or write the name of another group"
        )
    }

    private func checkHosts(_ reading: inout SettingsReading) {
        guard reading.has("hosts.files") else { return }
        for (index, path) in hosts.files.enumerated() {
            let place = reading.place(of: "hosts.files[\(index)]")
            if reading.environment.mayExist(path) {
                reading.warnIfOnlyForRoot(path, at: place)
            } else {
                reading.warn(
                    place,
                    "`hosts.files`: \(path) does not exist; until it exists, it counts as empty"
                )
            }
        }
    }

    private func checkMetrics(_ reading: inout SettingsReading) {
        checkGroup(metrics.group, "metrics.group", &reading)
        var seen: Set<MetricsPlace> = []
        for (index, place) in metrics.listen.enumerated() {
            let key = "metrics.listen[\(index)]"
            if case .address(let address) = place, address.port != 0, listen.contains(address) {
                reading.report(
                    reading.place(of: key),
                    "`\(place)` is already an address in `listen`",
                    hint: "use another port, such as \(MetricsPlace.standardPort)"
                )
            } else if case .path(control.socket) = place {
                reading.report(reading.place(of: key), "`\(place)` is already the control socket")
            } else if !place.isAnyPort, !seen.insert(place).inserted {
                reading.report(reading.place(of: key), "duplicate address `\(place)`")
            }
        }
    }
}
