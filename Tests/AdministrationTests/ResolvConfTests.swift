// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Foundation
import Net
import Testing

@testable import Administration

@Suite("Status of resolv.conf")
struct ResolvConfTests {
    private func found(
        _ files: [String: String],
        listening address: String = "127.0.0.1:53"
    ) throws -> ResolvConf {
        try withFiles(files) { root in
            let listener = try #require(SocketAddress(address, defaultPort: 53))
            return ResolvConf(pointingAt: [listener], root: root) { $0.host == "192.0.2.9" }
        }
    }

    private func withFiles<Result>(
        _ files: [String: String],
        _ body: (_ root: String) throws -> Result
    ) throws -> Result {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try text.write(to: file, atomically: false, encoding: .utf8)
        }
        return try body(root.path)
    }

    @Test("a wildcard listener matches a nameserver only if the nameserver is a local address")
    func wildcard() throws {
        func pointsHere(_ server: String) throws -> Bool? {
            try found(["etc/resolv.conf": "nameserver \(server)\n"], listening: "0.0.0.0:53")
                .pointsHere
        }
        #expect(try pointsHere("192.0.2.9") == true)
        #expect(try pointsHere("127.0.0.1") == true)
        #expect(try pointsHere("192.0.2.53") == false)
    }

    @Test("the check finds a daemon that systemd-resolved queries on a port other than 53")
    func otherPort() throws {
        let files = [
            "etc/resolv.conf": "nameserver 127.0.0.53\n",
            "run/systemd/resolve/resolv.conf": "nameserver 192.0.2.1\n",
            "etc/systemd/resolved.conf.d/zz-httpdnsd.conf": "[Resolve]\nDNS=\nDNS=127.0.0.1:5353\n",
        ]
        #expect(try found(files, listening: "127.0.0.1:5353").pointsHere == true)
        #expect(try found(files).pointsHere == false)
    }

    @Test("resolv.conf points to the daemon if the file's nameserver is the daemon's address")
    func plain() throws {
        let here = try found(["etc/resolv.conf": "nameserver 127.0.0.1\n"])
        #expect(here.pointsHere == true && here.nameservers == ["127.0.0.1"])
        let elsewhere = try found(["etc/resolv.conf": "nameserver 192.0.2.1\n"])
        #expect(elsewhere.pointsHere == false && elsewhere.nameservers == ["192.0.2.1"])
        let absent = try found([:])
        #expect(absent.pointsHere == nil && absent.nameservers.isEmpty)
    }

    private let local = [IPPrefix("127.0.0.0/8")].compactMap(\.self)

    @Test("`status` reports a problem if the daemon answers REFUSED to programs of this machine")
    func refusing() throws {
        let lan = try #require(IPPrefix("192.0.2.0/24"))
        let here = try found(["etc/resolv.conf": "nameserver 127.0.0.1\n"])
        #expect(here.problem(allow: local) == nil)
        #expect(here.problem(allow: [lan])?.contains("get REFUSED") == true)
        let other = try found(["etc/resolv.conf": "nameserver 192.0.2.9\n"], listening: "192.0.2.9")
        #expect(other.problem(allow: [lan]) == nil)
        let behind = try found([
            "etc/resolv.conf": "nameserver 127.0.0.53\n",
            "run/systemd/resolve/resolv.conf": "nameserver 127.0.0.1\n",
        ])
        // Programs query systemd-resolved, which queries the daemon from an unknown source address.
        // `allow` may permit this address, so `status` reports no problem.
        #expect(behind.problem(allow: [lan]) == nil)
        let second = try found(
            ["etc/resolv.conf": "nameserver 127.0.0.5\n"],
            listening: "127.0.0.5"
        )
        #expect(second.problem(allow: local) == nil)
        let own = try #require(IPPrefix("127.0.0.5/32"))
        #expect(second.problem(allow: [own])?.contains("127.0.0.1: programs") == true)
    }

    @Test("`status` reports a problem if setup wrote an address that the daemon no longer serves")
    func unserved() throws {
        let mark = "# Written by httpdnsctl setup for 127.0.0.1; revert\n"
        let files = [
            "var/lib/httpdnsd-setup/journal.json": "{}",
            "etc/resolv.conf": mark + "nameserver 127.0.0.1\n",
        ]
        #expect(try found(files).problem(allow: local) == nil)
        let moved = try found(files, listening: "127.0.0.1:5353")
        #expect(moved.problem(allow: local)?.contains("does not serve port 53") == true)
        let (old, new) = ("127.0.0.1:53", "127.0.0.7:53")
        let addresses = try [old, new].map { try #require(SocketAddress($0)) }
        try withFiles(files) { root in
            #expect(ResolvConf.warning(listening: addresses, root: root) == nil)
            let warning = ResolvConf.warning(listening: [addresses[1]], root: root)
            #expect(warning?.contains("names 127.0.0.1, but the daemon does not serve") == true)
        }
    }

    @Test("`status` reports a problem if another program changed resolv.conf since the setup")
    func overwritten() throws {
        let journal = ["var/lib/httpdnsd-setup/journal.json": "{}"]
        let resolvConf = "etc/resolv.conf"
        let withoutSetup = try found([resolvConf: "nameserver 192.0.2.1\n"])
        #expect(withoutSetup.isSetUp == false && withoutSetup.problem(allow: local) == nil)
        let intact = try found(journal.merging([resolvConf: "nameserver 127.0.0.1\n"]) { $1 })
        #expect(intact.isSetUp == true && intact.problem(allow: local) == nil)
        let changed = try found(journal.merging([resolvConf: "nameserver 192.0.2.1\n"]) { $1 })
        #expect(changed.problem(allow: local)?.contains("programs query 192.0.2.1") == true)
        // Setup wrote 192.0.2.1, the address of a daemon on another machine, so this is no problem.
        let mark = "# Written by httpdnsctl setup for 192.0.2.1; revert\n"
        let front = mark + "nameserver 192.0.2.1\n"
        #expect(try found(journal.merging([resolvConf: front]) { $1 }).problem(allow: local) == nil)
        for overwritten in ["nameserver 192.0.2.9\n" + front, mark + "nameserver 192.0.2.9\n"] {
            let changed = try found(journal.merging([resolvConf: overwritten]) { $1 })
            #expect(changed.problem(allow: local)?.contains("programs query 192.0.2.9") == true)
        }
    }

    @Test("resolv.conf points to the daemon if the daemon is the first server of systemd-resolved")
    func resolved() throws {
        let stub = ["etc/resolv.conf": "nameserver 127.0.0.53\noptions edns0 trust-ad\n"]
        let uplinks = "run/systemd/resolve/resolv.conf"
        var asked = stub
        asked[uplinks] = "nameserver 127.0.0.1\nnameserver 192.0.2.1\n"
        let here = try found(asked)
        #expect(here.pointsHere == true && here.by == "systemd-resolved")
        asked[uplinks] = "nameserver 192.0.2.1\nnameserver 127.0.0.1\n"
        let elsewhere = try found(asked)
        #expect(elsewhere.pointsHere == false && elsewhere.by == nil)
        #expect(try found(stub).pointsHere == false)
    }
}
