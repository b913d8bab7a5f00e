// SPDX-License-Identifier: Apache-2.0

/// The reply to `Version`: what runs, for bug reports.
package struct VersionReply: Codable, Sendable, Equatable {
    /// The version of the daemon.
    package var version: String

    /// The compiler it was built with.
    package var swift: String

    /// The libcurl it runs with.
    package var libcurl: String

    /// The OpenSSL it runs with.
    package var openssl: String

    /// The libyaml it runs with.
    package var libyaml: String

    /// Makes the reply of its parts.
    package init(
        version: String,
        swift: String,
        libcurl: String,
        openssl: String,
        libyaml: String
    ) {
        self.version = version
        self.swift = swift
        self.libcurl = libcurl
        self.openssl = openssl
        self.libyaml = libyaml
    }
}
