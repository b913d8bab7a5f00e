// SPDX-License-Identifier: Apache-2.0

/// Name, version and paths that the daemon and its clients share.
package enum Product {
    /// Name of the daemon.
    package static let name = "httpdnsd"

    /// Version of the daemon and of its programs, which are built together.
    package static let version = "0.1.0"

    /// URL of the product; empty, as there is none.
    package static let url = ""

    /// Default path of the control socket.
    package static let defaultSocket = "/run/httpdnsd/control.sock"
}
