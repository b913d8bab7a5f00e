// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import Testing

@testable import Configuration

@Suite("--check warns about settings for which the service has no permission")
struct ServiceUnitsTests {
    private let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func write(_ text: String, to path: String) throws {
        let file = root.appending(path: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try text.write(to: file, atomically: false, encoding: .utf8)
    }

    private func warnings(_ listen: String...) throws -> [String] {
        let list = listen.map { "\"\($0)\"" }.joined(separator: ", ")
        return try warnings(
            of: "listen: [\(list)]\nallow: [127.0.0.0/8, \"::1\", 192.0.2.0/24]\n"
        )
    }

    private func warnings(of text: String) throws -> [String] {
        try write("1024\n", to: "ports")
        var environment = SettingsEnvironment()
        environment.serviceUnits = {
            ServiceUnits(
                in: ["lib", "etc"].map { root.appending(path: $0).path },
                ports: root.appending(path: "ports").path
            )
        }
        return try settings(of: isp + text, environment: environment).warnings
            .map(\.description)
    }

    private func install() throws {
        for unit in ["httpdnsd.service", "httpdnsd.socket", "httpdnsd-ipv6.socket"] {
            let file = Self.repository.appending(path: "systemd/\(unit)")
            try write(try String(contentsOf: file, encoding: .utf8), to: "lib/\(unit)")
        }
    }

    @Test("with the installed units, only 127.0.0.1:53 and [::1]:53 may have a port below 1024")
    func installed() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        #expect(try warnings("192.0.2.1:53").isEmpty, "the units are not installed")
        try install()
        #expect(try warnings("127.0.0.1:53", "[::1]:53", "192.0.2.1:1024").isEmpty)
        expectErrors(
            try warnings("127.0.0.1:53", "192.0.2.1:53", "192.0.2.1:853"),
            [
                "f:2:26: httpdnsd.service cannot listen on 192.0.2.1:53: httpdnsd.socket "
                    + "ListenDatagram=192.0.2.1:53 ListenStream=192.0.2.1:53",
                "f:2:42: httpdnsd.service 192.0.2.1:853",
            ]
        )
        expectErrors(
            try warnings("[::]:53"),
            ["f:2:10: [::]:53 httpdnsd-ipv6.socket empty ListenDatagram=[::]:53"]
        )
    }

    @Test("drop-ins of the socket units add and remove addresses")
    func dropIns() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        let dropIn = "etc/httpdnsd.socket.d/override.conf"
        try write("[Socket]\nListenDatagram=192.0.2.1:53\n", to: dropIn)
        #expect(try warnings("192.0.2.1:53").count == 1)
        try write(
            "[Socket]\nListenDatagram = 192.0.2.1:53\n#ListenStream=192.0.2.1:53\n",
            to: dropIn
        )
        #expect(try warnings("192.0.2.1:53").count == 1)
        try write(
            "[Socket]\nListenDatagram = 192.0.2.1:53\nListenStream=192.0.2.1:53\n",
            to: dropIn
        )
        #expect(try warnings("192.0.2.1:53", "127.0.0.1:53").isEmpty)
        for header in ["", "[socket]\n", "[Service]\n"] {
            let lines = "ListenDatagram=192.0.2.1:53\nListenStream=192.0.2.1:53\n"
            try write(header + lines, to: dropIn)
            #expect(try warnings("192.0.2.1:53").count == 1, "section \(header)")
        }
        try write("[Socket]\nListenStream=\n", to: dropIn)
        #expect(try warnings("127.0.0.1:53").count == 1)
        try write(
            "[Socket]\nListenStream=\nListenDatagram=53\nListenStream=53\n",
            to: "etc/httpdnsd-ipv6.socket.d/override.conf"
        )
        #expect(try warnings("[::]:53").isEmpty)
    }

    @Test("a wildcard address that overlaps an address of the socket units is an outage")
    func overlap() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        try write(
            "[Service]\nAmbientCapabilities=CAP_NET_BIND_SERVICE\nPrivateUsers=no\n"
                + "CapabilityBoundingSet=CAP_NET_BIND_SERVICE\n",
            to: "etc/httpdnsd.service.d/ports.conf"
        )
        expectErrors(
            try warnings("0.0.0.0:53"),
            ["`0.0.0.0:53` httpdnsd.socket `127.0.0.1:53` would have no DNS ListenDatagram="]
        )
        #expect(try warnings("127.0.0.1:53", "0.0.0.0:5353", "192.0.2.1:53").isEmpty)
        let empty = "[Socket]\nListenDatagram=\nListenStream=\n"
        try write(empty, to: "etc/httpdnsd.socket.d/override.conf")
        #expect(try warnings("0.0.0.0:53").isEmpty)
    }

    @Test("an address of the socket units needs `allow` for clients on other hosts")
    func refusingSocket() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        try write(
            "[Socket]\nListenDatagram=192.0.2.1:53\nListenStream=192.0.2.1:53\n",
            to: "etc/httpdnsd.socket.d/override.conf"
        )
        expectErrors(try warnings(of: ""), ["`192.0.2.1:53` refuses all queries `allow`"])
        #expect(try warnings(of: "allow: [127.0.0.0/8, \"::1\", 192.0.2.0/24]").isEmpty)
        expectErrors(
            try warnings(of: "listen: [\"192.0.2.1:53\"]"),
            ["f:2:10: `192.0.2.1:53` refuses all queries"]
        )
    }

    @Test("without `listen`, the socket units must have an address")
    func noSockets() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        #expect(try warnings(of: "").isEmpty)
        for unit in ["httpdnsd.socket", "httpdnsd-ipv6.socket"] {
            #expect(try warnings(of: "").isEmpty)
            try FileManager.default.createDirectory(
                at: root.appending(path: "etc"),
                withIntermediateDirectories: true
            )
            try FileManager.default.createSymbolicLink(
                atPath: root.appending(path: "etc/\(unit)").path,
                withDestinationPath: "/dev/null"
            )
        }
        expectErrors(
            try warnings(of: ""),
            ["cannot listen on any address would have no DNS systemctl unmask"]
        )
        #expect(try warnings(of: "listen: [\"127.0.0.1:5353\"]").isEmpty)
    }

    @Test("only a service with an effective CAP_NET_BIND_SERVICE can bind every port")
    func capability() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        let lines = [
            "[Service]\nAmbientCapabilities=CAP_BPF CAP_NET_BIND_SERVICE\n",
            "CapabilityBoundingSet=CAP_BPF\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\n",
            "PrivateUsers=no\n", "CapabilityBoundingSet=~CAP_NET_BIND_SERVICE\n",
        ]
        for count in 1...lines.count {
            try write(lines.prefix(count).joined(), to: "etc/httpdnsd.service.d/ports.conf")
            #expect(try warnings("192.0.2.1:53").isEmpty == (count == 3), "\(count) lines")
        }
    }

    @Test("`accelerate.loopback: required` needs the drop-in httpdnsd-accelerate.conf")
    func acceleration() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let required = "accelerate: {loopback: required}"
        #expect(try warnings(of: required).isEmpty, "the units are not installed")
        try install()
        expectErrors(
            try warnings(of: required),
            ["f:2:24: httpdnsd.service `accelerate.loopback: required` would have no DNS auto"]
        )
        #expect(try warnings(of: "accelerate: {loopback: auto}").isEmpty)
        let file = Self.repository.appending(path: "systemd/httpdnsd-accelerate.conf")
        let dropIn = try String(contentsOf: file, encoding: .utf8)
        try write(dropIn, to: "etc/httpdnsd.service.d/accelerate.conf")
        #expect(try warnings(of: required).isEmpty)
        try write("[Service]\nPrivateUsers=yes\n", to: "etc/httpdnsd.service.d/b.conf")
        #expect(try warnings(of: required).count == 1)
    }

    @Test("--check reports a credential that the unit does not pass, and a missing credential file")
    func credentials() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let token = root.appending(path: "token").path
        let dropIn = "etc/httpdnsd.service.d/token.conf"
        var environment = SettingsEnvironment()
        environment.passesOverCredentials = true
        environment.serviceUnits = { [root] in
            ServiceUnits(in: ["lib", "etc"].map { root.appending(path: $0).path })
        }
        let text =
            isp + """
                vendors:
                  api: {kind: tencent, id: "1", channel: https, token: {credential: api.token},
                        budget: {calls-per-day: 100}}
                routes: [{domains: [.], vendors: [api]}]

                """
        func messages() throws -> [String] {
            do {
                return try settings(of: text, environment: environment).warnings.map(\.description)
            } catch let error as SettingsErrors {
                return error.problems.map(\.description)
            }
        }
        try install()
        for directory in [nil, root.path] {
            environment.credentialsDirectory = directory
            try write("123456789\n", to: "api.token")
            try write("[Service]\nLoadCredential=\n", to: dropIn)
            expectErrors(
                try messages(),
                ["does not pass the credential `api.token` would have no DNS LoadCredential="]
            )
        }
        environment.credentialsDirectory = nil
        for (line, message) in [
            ("SetCredential=api.token:x", "is not checked"),
            ("ImportCredential=api.*", "is not checked"),
            ("LoadCredential=api.token:\\", "is not checked"),
            ("LoadCredential=api:/x", "does not pass"),
        ] {
            try write("[Service]\n\(line)\n", to: dropIn)
            expectErrors(try messages(), [message])
        }
        environment.mayExist = { $0 != "/missing" }
        try write("[Service]\nSetCredential=api.token:x\nLoadCredential=b:/missing\n", to: dropIn)
        expectErrors(
            try messages(),
            [
                "credential `b` from /missing does not exist would have no DNS LoadCredential=b:",
                "is not checked",
            ]
        )
        try write("[Service]\nLoadCredential=api.token:\(token)\n", to: dropIn)
        expectErrors(try messages(), ["`vendors.api.token`: \(token) No such file"])
        try write("123456789\n", to: "token")
        #expect(try messages().isEmpty)
    }

    @Test("an upstream URL with an address of the installed socket units is an error")
    func ownSocket() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        var environment = SettingsEnvironment()
        environment.serviceUnits = { [root] in
            ServiceUnits(in: ["lib", "etc"].map { root.appending(path: $0).path })
        }
        let text = "listen: [\"127.0.0.1:5353\"]\nupstreams: [{name: a, url: \"udp://127.0.0.1\"}]"
        #expect(try settings(of: text, environment: environment).warnings.isEmpty)
        try install()
        let mapped = text.replacing("udp://127.0.0.1", with: "udp://[::ffff:127.0.0.1]")
        for text in [text, mapped] {
            let error = #expect(throws: SettingsErrors.self) {
                try settings(of: text, environment: environment)
            }
            expectErrors(
                error?.problems.map(\.description) ?? [],
                ["is httpdnsd itself `127.0.0.1:53`"]
            )
        }
    }

    @Test("--check names files that the user of the service cannot read or see")
    func unreadable() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        var environment = SettingsEnvironment()
        environment.passesOverCredentials = true
        environment.serviceUnits = { [root] in
            ServiceUnits(in: ["lib", "etc"].map { root.appending(path: $0).path })
        }
        func warnings(_ path: String) throws -> [String] {
            try settings(of: isp + "hosts: {files: [\(path)]}", environment: environment).warnings
                .map(\.description)
        }
        let dropIn = "etc/httpdnsd.service.d/user.conf"
        let open = "[Service]\nDynamicUser=no\nPrivateTmp=no\nProtectHome=no\n"
        try write(open + "User=nobody\n", to: dropIn)
        let file = root.appending(path: "hosts").path
        try write("192.0.2.1 a.example\n", to: "hosts")
        try #require(chmod(root.path, 0o755) == 0 && chmod(file, 0o600) == 0)
        if geteuid() == 0 {
            try #require(chown(file, 12_345, 12_345) == 0)
            expectErrors(try warnings(file), ["not every user can read \(file): cannot read it"])
            try #require(chmod(file, 0o640) == 0)
            #expect(try warnings(file).count == 1)
            try write(open + "User=nobody\nSupplementaryGroups=12345\n", to: dropIn)
            #expect(try warnings(file).isEmpty)
            try write(open + "User=12345\n", to: dropIn)
            #expect(try warnings(file).isEmpty)
        }
        try #require(chmod(file, 0o644) == 0)
        #expect(try warnings(file).isEmpty)
        try write("[Service]\nPrivateTmp=yes\n", to: dropIn)
        if file.hasPrefix("/tmp/") {
            expectErrors(try warnings(file), ["cannot read \(file): its own /tmp PrivateTmp="])
            let link = "/dev/shm/httpdnsd-test-\(UUID().uuidString)"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            defer { unlink(link) }
            expectErrors(try warnings(link), ["cannot read \(link): its own /tmp PrivateTmp="])
        }
    }

    @Test("--check tests the directory of a settings file only if the service reads this file")
    func directory() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try install()
        try write(isp, to: "settings/httpdnsd.yaml")
        let file = root.appending(path: "settings/httpdnsd.yaml").path
        for path in [file, root.path] { try #require(chmod(path, 0o755) == 0) }
        let folder = root.appending(path: "settings").path
        try #require(chmod(folder, 0o700) == 0)
        var environment = SettingsEnvironment()
        environment.passesOverCredentials = true
        environment.serviceUnits = { [root] in
            ServiceUnits(in: ["lib", "etc"].map { root.appending(path: $0).path })
        }
        #expect(try Settings.load(file: file, environment: environment).warnings.isEmpty)
        try write(
            "[Service]\nDynamicUser=no\nPrivateTmp=no\nExecStart=\n"
                + "ExecStart=/usr/sbin/httpdnsd --config \(file)\n",
            to: "etc/httpdnsd.service.d/config.conf"
        )
        let warnings = try Settings.load(file: file, environment: environment).warnings
        expectErrors(
            warnings.map(\.description),
            ["only root can read \(folder): would have no DNS `chmod 755 \(folder)`"]
        )
    }

    @Test("the service can write only to its own directories, and has its own /tmp")
    func writing() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let text = """
            cache: {snapshot: /srv/snap/cache}
            control: {socket: /tmp/httpdnsd.sock}
            metrics: {listen: [/home/m.sock, /var/run/httpdnsd/m.sock]}
            """
        #expect(try warnings(of: text).isEmpty, "the units are not installed")
        try install()
        expectErrors(
            try warnings(of: text),
            [
                "f:2:19: httpdnsd.service /srv/snap/cache /run/httpdnsd and /var/lib/httpdnsd "
                    + "ProtectSystem=strict not be saved",
                "f:3:19: httpdnsd.service /tmp/httpdnsd.sock PrivateTmp= httpdnsctl",
                "f:4:20: httpdnsd.service /home/m.sock ProtectSystem=strict",
            ]
        )
        let own = "cache: {snapshot: /var/lib/httpdnsd/c}\ncontrol: {socket: /run/httpdnsd/c}"
        #expect(try warnings(of: own).isEmpty)
        #expect(try warnings(of: "cache: {snapshot: /var/lib/httpdnsd2/c}").count == 1)
        let dropIn = "etc/httpdnsd.service.d/paths.conf"
        try write("[Service]\nReadWritePaths=-/srv /home\nBindPaths=/x:/y:norbind\n", to: dropIn)
        #expect(try warnings(of: text).count == 1)
        #expect(try warnings(of: "cache: {snapshot: /y/c}").isEmpty)
        try write("[Service]\nReadWritePaths=/srv\nReadWritePaths=\n", to: dropIn)
        #expect(try warnings(of: text).count == 3)
        // DynamicUser= implies ProtectSystem=strict and PrivateTmp=yes.
        try write("[Service]\nProtectSystem=full\nPrivateTmp=no\n", to: dropIn)
        #expect(try warnings(of: text).count == 3)
        try write("[Service]\nDynamicUser=no\nProtectSystem=full\nPrivateTmp=no\n", to: dropIn)
        #expect(try warnings(of: text).isEmpty)
    }
}
