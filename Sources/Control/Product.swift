// SPDX-License-Identifier: Apache-2.0

/// Name, version and default paths.
package enum Product {
    package static let name = "httpdnsd"
    package static let version = "0.1.0"
    package static let url = ""
    package static let defaultSocket = "/run/httpdnsd/control.sock"
}
