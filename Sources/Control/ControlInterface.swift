// SPDX-License-Identifier: Apache-2.0

/// Varlink interface of the daemon; ``description`` documents the fields of all messages.
package enum ControlInterface {
    package static let name = "io.httpdnsd.Control"

    package enum Method: String, CaseIterable, Sendable {
        case status = "Status"
        case stats = "Stats"
        case flush = "Flush"
        case lookup = "Lookup"
        case explain = "Explain"
        case resolve = "Resolve"
        case dump = "Dump"
        case top = "Top"
        case bill = "Bill"
        case prove = "Prove"
        case watch = "Watch"
        case pause = "Pause"
        case resume = "Resume"
        case reload = "Reload"
        case check = "Check"
        case settings = "Settings"
        case routes = "Routes"
        case logLevel = "LogLevel"
        case portal = "Portal"
        case version = "Version"
        package var fullName: String { ControlInterface.name + "." + rawValue }

        package init?(fullName: String) {
            let prefix = ControlInterface.name + "."
            guard fullName.hasPrefix(prefix) else { return nil }
            self.init(rawValue: String(fullName.dropFirst(prefix.count)))
        }
    }
}
