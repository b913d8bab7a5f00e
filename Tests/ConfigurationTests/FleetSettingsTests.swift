// SPDX-License-Identifier: Apache-2.0
import Control
import Net
import TestWorld
import Testing

@testable import Configuration

@Suite("Settings of the fleet")
struct FleetSettingsTests {
    private static let rest = """
        vendors: {a: {kind: json, url: "https://dns.example/resolve", servers: [192.0.2.1]}}
        routes: [{domains: [example.com], vendors: [a]}]
        upstreams: [{name: isp, url: "udp://192.0.2.53"}]

        """

    /// SECRET stands for a file with a valid secret, and SHORT for a file with a secret that is one
    /// octet too short.
    private static func read(_ fleet: String) throws -> Settings {
        let folder = try TemporaryFolder()
        let secret = try folder.write(String(repeating: "s", count: 32), to: "secret")
        let short = try folder.write(String(repeating: "s", count: 31), to: "short")
        let text = fleet.replacing("SECRET", with: "{file: \(secret)}")
            .replacing("SHORT", with: "{file: \(short)}")
        return try Settings(parsing: rest + text, fileName: "f")
    }

    @Test("the default is no fleet; the section `fleet` has the defaults of the manual")
    func standard() throws {
        #expect(try Self.read("").fleet == nil)
        #expect(try Self.read("fleet: off").fleet == nil)
        let settings = try Self.read("fleet: {servers: [192.0.2.10], secret: SECRET}")
        let fleet = try #require(settings.fleet)
        #expect(fleet.servers.map { "\($0)" } == ["192.0.2.10:6379"])
        #expect(fleet.wait == .milliseconds(50) && fleet.timeout == .milliseconds(10))
        #expect(fleet.groupName == nil && !fleet.tls && fleet.sentinel == nil)
        // The warning appears because replies of a JSON API do not contain the client address.
        #expect(settings.warnings.contains { $0.message.contains("`a` are not shared with") })
        let named = try Self.read("fleet: {servers: [192.0.2.10], secret: SECRET, group: office}")
        #expect(named.fleet?.groupName == "office" && named.warnings.isEmpty)
    }

    @Test("the default port of Sentinels is 26379, and the default master is `mymaster`")
    func sentinel() throws {
        let settings = try Self.read("fleet: {sentinel: {servers: [192.0.2.11]}, secret: SECRET}")
        let sentinel = try #require(settings.fleet?.sentinel)
        #expect(sentinel.servers.map { "\($0)" } == ["192.0.2.11:26379"])
        #expect(sentinel.master == "mymaster")
    }

    @Test(
        "an invalid option of the fleet is an error with a reason",
        arguments: [
            ("servers: [192.0.2.10]", "`fleet.secret` is missing"),
            ("servers: [192.0.2.10], secret: SHORT", "32 to 1024 octets"),
            ("servers: [192.0.2.10], secret: plain", "must not be in the settings file"),
            ("secret: SECRET", "neither `servers` nor `sentinel`"),
            (
                "servers: [192.0.2.10], sentinel: {servers: [192.0.2.11]}, secret: SECRET",
                "both `servers` and `sentinel`"
            ),
            ("servers: [redis.example.com], secret: SECRET", "redis.example.com"),
            ("servers: [192.0.2.10], secret: SECRET, wait: 3s", "fleet.wait"),
            ("servers: [192.0.2.10], secret: SECRET, user: a", "needs `fleet.password`"),
            ("servers: [192.0.2.10], secret: SECRET, tsl: on", "unknown key `tsl`"),
        ]
    )
    func errors(_ fleet: String, _ message: String) throws {
        do {
            _ = try Self.read("fleet: {\(fleet)}")
            Issue.record("accepted")
        } catch let errors as SettingsErrors {
            let found = errors.problems.map(\.message).joined(separator: "; ")
            #expect(found.contains(message), "\(found)")
        }
    }
}
