// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Redis server that saves nothing to disk, or Redis Sentinel.
final class TestRedis: Sendable {
    let port: UInt16
    let program: Child
    private let scratch: Scratch

    let authority: Authority?

    var address: String { "127.0.0.1:\(port)" }

    /// Redis permissions of the daemon's user, as in the manual.
    static let rules = """
        ~httpdnsd:* &httpdnsd:* -@all +auth +ping +time +get +getrange +set +del +eval +type +hget +hset +publish \
        +subscribe +zadd +zcard +zremrangebyscore +expire +lpush +ltrim +lrange
        """

    init(
        _ settings: String = "",
        port fixed: UInt16? = nil,
        hasTLS: Bool = false,
        isSentinel: Bool = false
    ) throws {
        scratch = try Scratch()
        authority = hasTLS ? try Authority() : nil
        try authority?.issue("redis", for: ["DNS:redis.example.com"], in: scratch)
        var failure: (any Error)?
        for _ in 0..<5 {
            let port = try fixed ?? freePort()
            let listen =
                hasTLS
                ? """
                port 0
                tls-port \(port)
                tls-cert-file \(scratch.file("redis.pem"))
                tls-key-file \(scratch.file("redis.key"))
                tls-ca-cert-file \(authority?.file ?? "")
                tls-auth-clients no
                """ : "port \(port)"
            let file = try scratch.write(
                """
                bind 127.0.0.1
                \(listen)
                dir \(scratch.path)
                \(isSentinel ? "" : "save \"\"")
                \(settings)
                """,
                to: "redis.conf"
            )
            let program = try Child("redis-server", [file] + (isSentinel ? ["--sentinel"] : []))
            do {
                // When Sentinel is ready, Sentinel prints its ID instead of `Ready to accept
                // connections`.
                try program.line(
                    with: isSentinel ? "Sentinel ID is" : "Ready to accept connections"
                )
                (self.port, self.program) = (port, program)
                return
            } catch {
                failure = error
            }
        }
        throw try #require(failure)
    }

    deinit { _ = try? program.stop() }

    @discardableResult
    func command(_ words: String...) throws -> String {
        let end = try Child("redis-cli", ["-p", "\(port)"] + words).end()
        try #require(end.status == 0, "\(end.errors)")
        return end.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// Daemons that share answers, with one emulated vendor.
final class FleetHarness: Sendable {
    let emulator: TestEmulator
    let daemons: [TestDaemon]
    private let scratch: Scratch
    private let upstream: TestUpstream

    init(
        _ engine: String,
        secrets: [String] = [String](repeating: FleetHarness.secret, count: 3),
        extras: [String] = [],
        name: String? = nil,
        faults: [String] = [],
        zone: String = ProgramHarness.zone,
        password: String = "",
        route: String = "",
        vendor extra: String = ""
    ) throws {
        scratch = try Scratch()
        emulator = try TestEmulator(zone: zone, faults: faults)
        upstream = try TestUpstream()
        let vendor = try VendorText(.aes, servers: [emulator.address], in: scratch, extra: extra)
        let passwordFile = try scratch.write(password + "\n", to: "password", mode: 0o600)
        var daemons: [TestDaemon] = []
        for (index, secret) in secrets.enumerated() {
            let file = try scratch.write(secret + "\n", to: "secret\(index)", mode: 0o600)
            daemons.append(
                try TestDaemon(
                    """
                    \(vendor.text)
                    routes:
                      - domains: [example.com]
                        vendors: [tencent]
                        fallback: none
                        \(route)
                    \(upstream.text)
                    fleet:
                      \(engine)
                      secret: {file: \(file)}
                      name: \(name ?? "m\(index + 1)")
                      timeout: 1s
                      wait: 2s
                      \(password.isEmpty ? "" : "user: httpdnsd\n  password: {file: \(passwordFile)}")
                      \(index < extras.count ? extras[index] : "group: test")
                    """,
                    environment: ["STATE_DIRECTORY": scratch.file("state\(index)")]
                )
            )
        }
        self.daemons = daemons
    }

    static let secret = "0123456789abcdef0123456789abcdef"

    func connected(times: Int = 1) throws {
        for daemon in daemons {
            try daemon.program.line(with: "fleet: connected to", number: times)
        }
    }

    func stop() throws { for daemon in daemons { try daemon.stop() } }
}

extension TestDaemon {
    func fleetStats() throws -> [String: Int] {
        let fleet = try stats()["fleet"]
        return Dictionary(uniqueKeysWithValues: fleet.keys.map { ($0, fleet[$0].int ?? -1) })
    }

    func wait(_ arguments: String..., until isReached: (JSON) throws -> Bool) throws {
        let end = Date(timeIntervalSinceNow: 20)
        while true {
            let reply = try run(Product.control, ["--socket", socket, "--json"] + arguments).output
            if let json = try? JSON(reply), try isReached(json) { return }
            try #require(Date() < end, "\(reply)")
        }
    }
}
