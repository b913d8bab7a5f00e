// SPDX-License-Identifier: Apache-2.0

/// The interface of the daemon, `io.httpdnsd.Control`.
package enum ControlInterface {
    /// The name of the interface.
    package static let name = "io.httpdnsd.Control"

    /// The methods of the interface.
    package enum Method: String, CaseIterable, Sendable {
        case status = "Status"
        case stats = "Stats"
        case flush = "Flush"
        case lookup = "Lookup"
        case explain = "Explain"
        case resolve = "Resolve"
        case dump = "Dump"
        case top = "Top"
        case watch = "Watch"
        case pause = "Pause"
        case resume = "Resume"
        case reload = "Reload"
        case check = "Check"
        case settings = "Settings"
        case routes = "Routes"
        case logLevel = "LogLevel"
        case version = "Version"

        /// The full name, as a call carries it.
        package var fullName: String { ControlInterface.name + "." + rawValue }

        /// Reads the full name of a method of this interface.
        package init?(fullName: String) {
            let prefix = ControlInterface.name + "."
            guard fullName.hasPrefix(prefix) else { return nil }
            self.init(rawValue: String(fullName.dropFirst(prefix.count)))
        }
    }
}
