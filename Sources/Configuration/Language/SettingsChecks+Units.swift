// SPDX-License-Identifier: Apache-2.0
internal import Control

extension Settings {
    /// Warns of settings that need more permissions than the installed units grant.
    func checkUnits(_ reading: inout SettingsReading) {
        guard let units = reading.environment.serviceUnits() else { return }
        if accelerate.loopback == .required, !units.canAccelerate {
            reading.warn(
                reading.place(of: "accelerate.loopback"),
                "httpdnsd.service lacks the capabilities that `accelerate.loopback: required` "
                    + "needs; \(SettingsComplaint.outage)",
                hint: "install the drop-in httpdnsd-accelerate.conf (its comments describe the "
                    + "commands), or use `auto`"
            )
        }
        for (name, path) in units.credentialFiles where !reading.environment.mayExist(path) {
            reading.warn(
                YAMLPlace(file: 0, line: 0, column: 0),
                "httpdnsd.service loads the credential `\(name)` from \(path), which does not "
                    + "exist; \(SettingsComplaint.outage)",
                hint: "create the file, or remove LoadCredential=\(name):\(path) with "
                    + "`systemctl edit httpdnsd`"
            )
        }
        if !reading.has("listen"), units.passedAddresses.isEmpty,
            !listen.contains(where: units.canListen)
        {
            reading.warn(
                YAMLPlace(file: 0, line: 0, column: 0),
                "httpdnsd.service cannot listen on any address: the socket units have no address, "
                    + "and the service has no permission for port 53; \(SettingsComplaint.outage)",
                hint: "run `systemctl unmask httpdnsd.socket` and "
                    + "`systemctl revert httpdnsd.socket`"
            )
        }
        if case .file(let path) = cache.snapshot {
            warn(of: path, "cache.snapshot", "the cache will not be saved", units, &reading)
        }
        if reading.has("control.socket"), !reading.isDamaged("control.socket") {
            let effect = "httpdnsctl cannot connect"
            warn(of: control.socket, "control.socket", effect, units, &reading)
        }
        for (index, place) in metrics.listen.enumerated() {
            guard case .path(let path) = place else { continue }
            let effect = "no program can read the metrics"
            warn(of: path, "metrics.listen[\(index)]", effect, units, &reading)
        }
    }

    private func warn(
        of path: String,
        _ key: String,
        _ effect: String,
        _ units: ServiceUnits,
        _ reading: inout SettingsReading
    ) {
        guard let obstacle = units.obstacle(toWriting: path) else { return }
        reading.warn(
            reading.place(of: key),
            "httpdnsd.service cannot use \(path): \(obstacle); \(effect)",
            hint: "use a path in /run/httpdnsd or /var/lib/httpdnsd, or add ReadWritePaths= with "
                + "`systemctl edit httpdnsd`"
        )
    }
}
