// SPDX-License-Identifier: Apache-2.0

/// What both ends say about themselves.
package enum Product {
    /// The name of the daemon.
    package static let name = "httpdnsd"

    /// The version of the daemon and of its programs, which are built together.
    package static let version = "0.1.0"

    /// Where to read about it; empty, as it has no home on the web.
    package static let url = ""

    /// Where the daemon listens for control, unless the settings say otherwise.
    package static let defaultSocket = "/run/httpdnsd/control.sock"
}
