// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Certificates that are valid for two days.
struct Certificates: Sendable {
    static let name = "vendor.example.com"
    static let address = "192.0.2.7"

    let authority: String
    let certificate: String
    let key: String

    static let shared = Result { try Certificates() }

    private init() throws {
        let directory = try TemporaryDirectory()
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        func openssl(_ arguments: [String]) throws {
            try Program.run("/usr/bin/openssl", arguments, in: directory.url)
        }
        try openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=Test authority"] + newKey
                + ["-keyout", "ca.key", "-out", "ca.pem"]
        )
        try openssl(
            ["req", "-subj", "/CN=not-looked-at.example.com"] + newKey
                + ["-keyout", "server.key", "-out", "server.csr"]
        )
        try directory.write("subjectAltName=DNS:\(Self.name),IP:\(Self.address)\n", to: "ext")
        try openssl([
            "x509", "-req", "-days", "2", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-extfile", "ext", "-out", "server.pem",
        ])
        func read(_ name: String) throws -> String {
            try String(contentsOfFile: directory.path(name), encoding: .utf8)
        }
        authority = try read("ca.pem")
        certificate = try read("server.pem")
        key = try read("server.key")
    }
}
