// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("systemd-resolved or NetworkManager does not reply or has ended", .timeLimit(.minutes(15)))
struct ResolvedStateTests {
    private static let manager: BusValue = .table([
        "DNS": .list([.list([.number(2), .number(2), .octets([192, 0, 2, 1])])])
    ])

    private static func state(_ link: [String: BusValue] = [:]) -> ResolvedState {
        var state = ResolvedState()
        state.hasReplied(manager, [2: .table(link)])
        state.hasStopped()
        return state
    }

    @Test("the resolv.conf of a service is not used while the service runs or may run")
    func file() {
        var state = ResolvedState()
        #expect(state.allowsFile && !state.isSilent && state.problem == nil)
        state.hasNotReplied()
        #expect(!state.allowsFile && state.isSilent && state.problem != nil)
        state.hasStopped()
        #expect(state.allowsFile && !state.isSilent && state.problem == nil)
        state.hasReplied(Self.manager, [:])
        state.hasNotReplied()
        #expect(!state.allowsFile && !state.isSilent && state.problem == nil)
    }

    @Test("after the service ends, servers with TLS and servers of a VPN that is up stay in use")
    func end() {
        var ordinary = Self.state()
        #expect(ordinary.settings([2: "eth0"], running: nil) == nil)
        #expect(ordinary.allowsFile && !ordinary.isKnown)
        ordinary.hasStopped()
        #expect(ordinary.allowsFile)
        var strict = Self.state(["DNSOverTLS": .text("yes")])
        #expect(strict.settings([2: "eth0"], running: nil)?.count == 1)
        #expect(!strict.allowsFile && strict.problem != nil)
        var vpn = Self.state()
        let up = ["proton0": LinkResolvers.Interface(index: 2, isTunnel: true)]
        #expect(vpn.settings([2: "proton0"], running: up)?.count == 1)
        #expect(vpn.settings([2: "proton0"], running: [:]) == nil)
        #expect(vpn.allowsFile)
    }

    @Test("after NetworkManager ends, the domains of a VPN stay in use only while the VPN is up")
    func endOfNetworkManager() {
        func state(_ link: String) -> NetworkManagerState {
            var state = NetworkManagerState()
            state.hasReplied(
                .table([
                    "Configuration": .list([
                        .table([
                            "interface": .text(link), "nameservers": .list([.text("192.0.2.53")]),
                            "domains": .list([.text("~corp.example")]),
                        ])
                    ])
                ])
            )
            state.hasStopped()
            return state
        }
        let up = [
            "eth0": LinkResolvers.Interface(index: 2, isTunnel: false),
            "wg0": LinkResolvers.Interface(index: 3, isTunnel: true),
        ]
        var ordinary = state("eth0")
        #expect(ordinary.settings(running: up) == nil)
        #expect(!ordinary.isKnown && ordinary.problem == nil)
        var vpn = state("wg0")
        #expect(vpn.settings(running: up)?.links.map(\.domains) == [["corp.example"]])
        #expect(vpn.problem != nil)
        #expect(vpn.settings(running: ["eth0": up["eth0"]].compactMapValues(\.self)) == nil)
        #expect(!vpn.isKnown && vpn.problem == nil)
        // A new interface with the same name may not belong to a VPN.
        #expect(vpn.settings(running: up) == nil)
    }

    @ServiceLoop
    @Test(
        "before D-Bus replies, neither resolved's file nor a symbolic link to it is used"
    )
    func start() async throws {
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path("run/systemd/resolve/resolv.conf"))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try "nameserver 192.0.2.1\n".write(to: file, atomically: false, encoding: .utf8)
        let etc = directory.path("etc")
        try FileManager.default.createDirectory(atPath: etc, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: etc + "/resolv.conf",
            withDestinationPath: file.path
        )
        let socket = directory.path("bus")
        func servers() async throws -> Int? {
            let (found, continuation) = AsyncStream.makeStream(of: Int.self)
            let watch = ResolverWatch(
                ResolverFiles(root: directory.url.path),
                bus: "unix:path=\(socket)",
                isOwn: { _ in false },
                report: { _ in },
                { continuation.yield($0.flatMap(\.servers).count) }
            )
            watch.start()
            defer { watch.stop() }
            var iterator = found.makeAsyncIterator()
            return await iterator.next()
        }
        #expect(try await servers() == 1)
        let listener = try StreamListener(unixPath: socket, mode: 0o600)
        #expect(try await servers() == 0)
        listener.close()
    }

    @Test("the daemon uses a D-Bus system bus that starts after the daemon")
    @ServiceLoop
    func later() async throws {
        let directory = try TemporaryDirectory()
        let socket = directory.path("run/bus")
        let watch = ResolverWatch(
            ResolverFiles(root: directory.url.path),
            bus: "unix:path=\(socket)",
            report: { _ in },
            { _ in }
        )
        watch.start()
        defer { watch.stop() }
        try FileManager.default.createDirectory(
            atPath: directory.path("run"),
            withIntermediateDirectories: false
        )
        let listener = try StreamListener(unixPath: socket, mode: 0o600)
        let connection = try await listener.accept()
        connection.close()
        listener.close()
    }
}
