// SPDX-License-Identifier: Apache-2.0
internal import Control
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
        checkStateDirectory(&reading)
        checkControl(&reading)
        checkHosts(&reading)
        checkMetrics(&reading)
        checkUnits(&reading)
        checkThatSomethingAnswers(&reading)
    }
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
                        ? "no upstream" : "all upstreams are only for routes (`only`)"),
                hint: "add an upstream\(upstreams.isEmpty ? "" : " without `only`"), such as"
                    + " upstreams: [{name: isp, url: \"udp://192.0.2.1\"}]"
            )
        } else {
            reading.warn(place, "names without a route cannot be resolved: no upstream serves them")
        }
    }
}

// MARK: - Cache and control

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
        guard !ownFiles(reading).contains(path) else {
            return reading.report(
                reading.place(of: "cache.snapshot"),
                "the snapshot would replace \(path), which is another file of the daemon",
                hint: "use another path, or `auto`"
            )
        }
        if let fault = reading.environment.snapshotFault(path) {
            return reading.warn(
                reading.place(of: "cache.snapshot"),
                "\(path) \(fault): the cache will not be saved",
                hint: "use another path, or `auto`"
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

    private func checkStateDirectory(_ reading: inout SettingsReading) {
        guard let list = reading.environment.stateDirectories,
            SettingsEnvironment.firstPath(in: list) == nil
        else { return }
        reading.warn(
            YAMLPlace(file: 0, line: 0, column: 0),
            "$STATE_DIRECTORY is ignored, because its value \"\(list)\" is not an absolute path: "
                + "the daemon uses /var/lib/httpdnsd"
                + (cache.snapshot == .automatic ? ", and does not save the cache" : ""),
            hint: "set an absolute path (in a systemd unit, StateDirectory= sets the variable)"
        )
    }

    /// Paths that the daemon itself uses, except the snapshot.
    private func ownFiles(_ reading: SettingsReading) -> [String] {
        let directories = [SettingsEnvironment.stateDirectory, "/var/lib/httpdnsd"]
        return reading.files + [control.socket] + metrics.listen.map(\.description)
            + directories.compactMap(\.self).flatMap { ["\($0)/usage.state", "\($0)/fleet.state"] }
    }

    private func checkCacheSize(_ reading: inout SettingsReading) {
        guard cache.size > CacheSettings().size else { return }
        guard reading.environment.mayCreateCache(cache.size) else {
            return reading.warn(
                reading.place(of: "cache.size"),
                "the system does not grant enough address space for this `cache.size`; "
                    + SettingsComplaint.outage,
                hint: "reduce the size, or raise the limit (vm.overcommit_memory, LimitAS=)"
            )
        }
        let needed = 2 * cache.size + CacheSettings.otherMemory
        guard let limit = reading.environment.memoryLimit(), limit < needed else { return }
        let mebibytes = (needed + 1 << 20 - 1) >> 20
        reading.warn(
            reading.place(of: "cache.size"),
            "`cache.size` is too large for the memory limit of this service (\(limit >> 20) MiB): "
                + "the kernel may kill the daemon",
            hint: "set MemoryMax=\(mebibytes)M with `systemctl edit httpdnsd`, or reduce the size"
        )
    }

    fileprivate static func directory(of path: String) -> String {
        let parent = path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex).dropLast()
        return parent.isEmpty ? "/" : String(parent)
    }

    private func checkControl(_ reading: inout SettingsReading) {
        checkGroup(control.group, "control.group", &reading)
        checkControlSocket(&reading)
        if control.mode & 0o222 == 0 {
            reading.warn(
                reading.place(of: "control.mode"),
                "no user except root may connect to the control socket, because the mode gives no "
                    + "write permission",
                hint: "set \"0660\", and add the administrators to the group `\(control.group)`"
            )
        }
        guard control.mode & 0o002 != 0 else { return }
        reading.warn(
            reading.place(of: "control.mode"),
            "every user of this machine may connect to the control socket",
            hint: "set \"0660\", and add the administrators to the group `\(control.group)`"
        )
    }

    private func checkControlSocket(_ reading: inout SettingsReading) {
        guard reading.has("control.socket"), !reading.isDamaged("control.socket") else { return }
        reading.warnIfNoSocket(
            at: control.socket,
            reading.place(of: "control.socket"),
            effect: "the daemon would run without its control socket"
        )
    }

    func checkGroup(_ group: String?, _ path: String, _ reading: inout SettingsReading) {
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
            if let reason = reading.environment.irregularity(path) {
                reading.warn(
                    place,
                    "`hosts.files`: the daemon ignores \(path), because it \(reason)"
                )
            } else if reading.environment.mayExist(path) {
                reading.warnIfOnlyForRoot(path, at: place, isRequired: false)
            } else {
                reading.warn(
                    place,
                    "`hosts.files`: \(path) does not exist; the daemon treats the file as empty"
                )
            }
        }
    }
}

extension SettingsReading {
    mutating func warnIfNoSocket(at path: String, _ place: YAMLPlace, effect: String) {
        let directory = Settings.directory(of: path)
        let standard = Settings.directory(of: ControlSettings().socket)
        if !environment.mayBeSocket(path) {
            warn(
                place,
                "\(path) exists, but is not a socket: \(effect)",
                hint: "remove the file, or use another path"
            )
        } else if directory != standard, !environment.mayBeDirectory(directory) {
            // No warning for the directory of the default socket, because systemd creates this
            // directory when the service starts.
            warn(
                place,
                "the directory \(directory) does not exist: \(effect)",
                hint: "create the directory for the daemon's user, or use \(standard)"
            )
        }
    }
}
