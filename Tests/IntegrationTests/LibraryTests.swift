// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Libraries that are loaded on demand", .needs(.dig), .hangLimit)
struct LibraryTests {
    private static func isMapped(_ library: String, in daemon: TestDaemon) throws -> Bool {
        let path = "/proc/\(daemon.program.pid)/maps"
        return try String(contentsOfFile: path, encoding: .utf8).contains("/\(library).so")
    }

    @Test("the dynamic linker loads no library that only some settings need")
    func linked() throws {
        let linker = try Child(
            Product.daemon,
            [],
            environment: ["LD_TRACE_LOADED_OBJECTS": "1"]
        )
        let libraries = try linker.end().output
        #expect(libraries.contains("libc.so"))
        for library in ["libcrypto", "libcurl", "libhiredis", "libssl", "libsystemd"] {
            #expect(!libraries.contains(library), "\(libraries)")
        }
    }

    @Test("a daemon loads OpenSSL when a reload adds an encrypted upstream")
    func reload() throws {
        let daemon = try TestDaemon(unusedUpstream)
        #expect(try daemon.dig("localhost", "A").data("A") == ["127.0.0.1"])
        #expect(try !Self.isMapped("libssl", in: daemon))
        try daemon.rewrite("upstreams: [{name: unused, url: \"tls://192.0.2.1\"}]")
        let reload = try daemon.control("reload")
        #expect(reload.status == 0, "\(reload.errors)")
        #expect(try Self.isMapped("libssl", in: daemon))
        try daemon.stop()
    }
}
