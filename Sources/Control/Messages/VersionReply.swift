// SPDX-License-Identifier: Apache-2.0

package struct VersionReply: Codable, Sendable, Equatable {
    package var version: String
    package var swift: String
    package var libcurl: String
    package var openssl: String
    package var libyaml: String

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
