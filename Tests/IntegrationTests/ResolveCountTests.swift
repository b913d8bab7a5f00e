// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("bill shows the number of calls that the vendor counted", .hangLimit)
struct ResolveCountTests {
    private static let key = (id: "LTAI-example-key-id", secret: "example-access-key-secret")

    private func daemon(_ scratch: Scratch, proxy: UInt16) throws -> TestDaemon {
        let secret = try scratch.write(
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            to: "secret",
            mode: 0o600
        )
        let id = try scratch.write(Self.key.id, to: "id", mode: 0o600)
        let key = try scratch.write(Self.key.secret, to: "key", mode: 0o600)
        let billing =
            "proxy: \"http://127.0.0.1:\(proxy)\", billing: {access-key-id: {file: \(id)}, "
            + "access-key-secret: {file: \(key)}}"
        let vendor = "kind: alibaba, account: 1, secret: {file: \(secret)}, servers: [192.0.2.1]"
        return try TestDaemon(
            """
            log: {level: debug}
            hosts: {files: [], records: {httpdns-api.aliyuncs.com: [192.0.2.7]}}
            vendors:
              ali: {\(vendor), \(billing)}
              other: {\(vendor), \(billing)}
            routes: [{domains: [example.com], vendors: [ali, other], fallback-after: off}]
            """
        )
    }

    @Test("if the vendor's API does not reply, `bill` waits only once per minute and access key")
    func silent() throws {
        let scratch = try Scratch()
        let proxy = try Socket(.stream, bound: true)
        try proxy.listen()
        let daemon = try daemon(scratch, proxy: proxy.port)
        let start = ContinuousClock.now
        let first = try daemon.control("bill", "--json")
        #expect(ContinuousClock.now - start < .seconds(6))
        try check(first, contains: "timed out")
        try check(try daemon.control("bill"), contains: "timed out")
        try check(try daemon.control("bill", "--month"), contains: "timed out")
        #expect(proxy.waitingConnections() == 1)
        try end(daemon)
    }

    @Test("if the API of the vendor cannot be reached, `bill` shows the error")
    func refused() throws {
        let scratch = try Scratch()
        // The socket is bound, but does not listen, so the kernel refuses connections.
        let proxy = try Socket(.stream, bound: true)
        let daemon = try daemon(scratch, proxy: proxy.port)
        try check(try daemon.control("bill", "--json"), contains: "refused")
        try check(try daemon.control("bill"), contains: "unknown (")
        try end(daemon)
    }

    private func check(_ end: Child.End, contains problem: String) throws {
        #expect(end.status == 0, "\(end)")
        for word in ["ali", "other", "httpdns-api.aliyuncs.com", problem] {
            #expect(end.output.contains(word), "\(end.output)")
        }
        try checkSecrets(end.output + end.errors)
    }

    private func checkSecrets(_ text: String) throws {
        #expect(!text.contains(Self.key.id) && !text.contains(Self.key.secret), "\(text)")
    }

    private func end(_ daemon: TestDaemon) throws {
        for verb in ["status", "stats"] {
            try checkSecrets(try daemon.control(verb, "--json").output)
        }
        try checkSecrets(try daemon.control("settings").output)
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        try checkSecrets(end.errors)
    }
}
