// SPDX-License-Identifier: Apache-2.0
import Administration
import Control
import DNSCache
import DNSWire
import Net
import Resolver
import TestWorld
import Testing

@testable import Configuration
@testable import Daemon

@Suite("Changes while the snapshot is loaded", .timeLimit(.minutes(15)))
struct SnapshotLoadingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @ServiceLoop
    private func restarted() async throws -> Daemon {
        let former = try daemon()
        former.startCacheFile()
        await former.snapshotLoaded()
        let (components, clocks) = (former.components, former.components.clocks)
        let server = components.resolver.origins.number(labelled: "isp/udp://192.0.2.53")
        for name in ["printer.lan", "app.corp.example.com", "www.example.com"] {
            components.cache.insert(try .address(name, server: server), now: clocks.now())
        }
        await former.cacheFile?.finish(by: clocks.now() + .seconds(60))
        return try daemon()
    }

    @ServiceLoop
    private func daemon() throws -> Daemon {
        let text = """
            upstreams:
              - {name: isp, url: "udp://192.0.2.53"}
              - {name: network, from: network}
            cache: {snapshot: \(folder.path)/cache.snapshot, size: 1MiB}
            hosts: {files: []}

            """
        let settings = try Settings(parsing: text, fileName: "f")
        return try Daemon(
            settings,
            from: SettingsSource { () throws(SettingsErrors) in settings },
            in: .system,
            logger: LogRecorder().logger
        )
    }

    @ServiceLoop
    private func names(_ daemon: Daemon) throws -> [String] {
        let components = daemon.components
        return try ["printer.lan", "app.corp.example.com", "www.example.com"].filter {
            let now = components.clocks.now()
            return !components.cache.entries(named: try Name($0), type: nil, now: now).isEmpty
        }
    }

    @Test
    @ServiceLoop
    func `a flush also removes answers that the snapshot has not yet restored`() async throws {
        let daemon = try await restarted()
        daemon.startCacheFile()
        let handler = ControlHandler(daemon)
        let reply = try await handler.flush(.tree("example.com"), soft: false, fleet: false)
        #expect(reply.removed == 2)
        #expect(!daemon.isLoadingSnapshot)
        #expect(try names(daemon) == ["printer.lan"])
    }

    @Test
    @ServiceLoop
    func `changes of hosts and routing domains also apply to restored answers`() async throws {
        let daemon = try await restarted()
        daemon.startCacheFile()
        let cacheFile = try #require(daemon.cacheFile)
        let printer = try Name("printer.lan")
        let validity = cacheFile.validity
        cacheFile.validity = {
            defer {
                daemon.components.resolver.use(
                    HostsTable(records: [(printer, [.v4(IPv4Address(value: 0xC0A8_0107))])])
                )
                daemon.components.network.use([
                    LinkResolvers(
                        .resolved,
                        link: "tun0",
                        servers: [],
                        domains: ["corp.example.com"]
                    )
                ])
            }
            return validity()
        }
        await daemon.snapshotLoaded()
        #expect(try names(daemon) == ["www.example.com"])
    }
}
