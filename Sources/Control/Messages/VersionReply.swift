// SPDX-License-Identifier: Apache-2.0

/// Reply to `Version`: versions for bug reports.
package struct VersionReply: Codable, Sendable, Equatable {
    /// Version of the daemon.
    package var version: String

    /// Swift compiler of the build.
    package var swift: String

    /// Loaded version of libcurl.
    package var libcurl: String

    /// Loaded version of OpenSSL.
    package var openssl: String

    /// Loaded version of libyaml.
    package var libyaml: String

    /// Creates the reply from its parts.
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
