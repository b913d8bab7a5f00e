// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Net

extension SettingsReading {
    /// Warns that the service cannot read a file or directory, although `--check` as root can.
    ///
    /// - Parameter exempt: directory that is not checked; the directories above it are not checked
    ///   either.
    mutating func warnIfOnlyForRoot(
        _ path: String,
        at place: YAMLPlace,
        isRequired: Bool = true,
        exempt: String? = nil,
        hint: String? = nil
    ) {
        guard environment.passesOverCredentials else { return }
        let units = environment.serviceUnits()
        let outage = isRequired ? "; \(SettingsComplaint.outage)" : ""
        // A link can lead to a directory that the service does not see.
        let target = RootOnlyPath.resolved(path)
        let isExempt = exempt.map { RootOnlyPath.contains($0, target) } ?? false
        if let obstacle = (exempt == nil ? units?.obstacle(toReading: path) : nil)
            ?? target.flatMap({ isExempt ? nil : units?.obstacle(toReading: $0) }),
            RegularFile.fault(of: path)?.isAbsence != true
        {
            return warn(
                place,
                "httpdnsd.service cannot read \(path): \(obstacle)\(outage)",
                hint: "move the file to /etc/httpdnsd"
            )
        }
        guard let closed = RootOnlyPath(on: path, exempt: exempt, for: units?.user) else { return }
        let what = closed.path == path ? "it" : path
        let command = "run `chmod \(closed.isDirectory ? "755" : "644") \(closed.path)`"
        warn(
            place,
            "\(closed.isForRoot ? "only root" : "not every user") can read \(closed.path): "
                + "httpdnsd.service runs as its own user, and cannot read \(what)\(outage)",
            hint: hint ?? command
        )
    }
}
