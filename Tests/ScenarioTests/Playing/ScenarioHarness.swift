// SPDX-License-Identifier: Apache-2.0
import Control
import DNSCache
import DNSWire
import HTTPDNS
import Logging
import Net
import Resolver
import TestWorld
import Upstream

@testable import Administration
@testable import Configuration
@testable import Daemon
@testable import Frontend

/// Daemon with a scenario's settings, in virtual time.
///
/// This daemon has no listeners and no threads.
@ServiceLoop
final class ScenarioHarness {
    let world = Simulation()
    let network: Network

    private let settings: Settings
    let daemon: Daemon

    private static let cacheOctets = 1 << 20

    init(_ scenario: Scenario) throws {
        var settings = try Settings(
            parsing: scenario.settings,
            fileName: scenario.file,
            environment: SettingsEnvironment(credentialsDirectory: Files.credentials)
        )
        settings.cache.size = min(settings.cache.size, Self.cacheOctets)
        settings.hosts.files = []
        self.settings = settings
        let network = Network(
            scenario,
            world,
            vendors: try settings.vendors.map { ($0, try Account(playing: $0, scenario.file)) },
            upstreams: settings.upstreams
        )
        self.network = network
        daemon = try Daemon(
            settings,
            from: SettingsSource { [settings] () throws(SettingsErrors) in settings },
            in: Dependencies(
                clocks: world.clocks,
                seed: 1,
                transport: { _ in Line(network: network) },
                way: { settings, address, _ in WireTransport(settings, to: address, network) },
                probe: { await network.accepts($0.address, port: $0.port, deadline: $1) },
                stack: { network.stack },
                translation: AddressTranslation { _ in network.stack != .v6 }
            ),
            logger: Logger(label: "scenario") { _ in SwiftLogNoOpLogHandler() }
        )
        resolver.use(HostsReading(settings.hosts, after: HostsTable(), of: []).table)
    }

    private var resolver: Resolver { daemon.state.resolver }
}

extension ScenarioHarness {
    func answer(_ octets: [UInt8], over transport: QueryTransport) async -> [UInt8]? {
        let client = ClientContext(
            transport: transport,
            address: .v4(IPv4Address(value: 0x7F00_0001)),
            isAllowed: true
        )
        let handler = daemon.state.handler
        switch handler.look(at: octets, from: client, arrival: world.now) {
        case .reply(let reply), .malformed(let reply): return reply
        case .nothing: return nil
        case .question(let open):
            return await withCheckedContinuation { continuation in
                handler.resolve(open, Completion { continuation.resume(returning: $0) })
            }
        }
    }
}

extension ScenarioHarness {
    func begin() {
        daemon.network.startTranslation()
        resolver.prefetcher.start()
    }

    func end() {
        daemon.state.nat64.stop()
        resolver.prefetcher.stop()
    }

    func networkChanged(to stack: NetworkStack?) {
        network.stack = stack ?? network.stack
        daemon.network.react(to: "another network")
    }

    /// Each line has the form `tun0 192.0.2.53 ~corp.example.com`.
    func resolversChanged(_ lines: [String]) {
        let links = lines.map { line in
            let words = line.split(separator: " ").map(String.init)
            let domains = words.filter { $0.hasPrefix("~") }.map { String($0.dropFirst()) }
            let servers = words.compactMap { SocketAddress($0, defaultPort: 53) }
            var link = LinkResolvers(
                .resolved,
                link: words[0],
                servers: servers.map { LinkResolvers.Server($0) },
                domains: domains.filter { $0 != "." },
                isDefault: domains.isEmpty
            )
            link.takesAll = domains.contains(".")
            return link
        }
        daemon.components.network.use(links)
    }

    func hostsChanged(_ lines: [String]) {
        var table = HostsReading(settings.hosts, after: HostsTable(), of: []).table
        let text = lines.map { $0 + "\n" }.joined()
        _ = table.add(hostsFile: Array(text.utf8))
        resolver.use(table)
    }
}

extension ScenarioHarness {
    var `operator`: ControlHandler { ControlHandler(daemon) }

    var billed: [String: Int] {
        let clients = daemon.state.vendors.map(\.client)
        return Dictionary(
            uniqueKeysWithValues: clients.map { ($0.name, Int($0.statistics.billable)) }
        )
    }

    func cached(_ name: Name) -> [String] {
        daemon.state.cache.entries(named: name, type: nil, now: world.now)
            .filter { $0.remaining > 0 }
            .map { entry in
                let kind =
                    entry.rcode != .noError
                    ? " \(entry.rcode)" : entry.isNegative ? " NODATA" : ""
                return "\(entry.type)\(kind) \(entry.remaining)"
            }
    }
}

extension Account {
    /// - Throws: `ScenarioError` if the tests have no emulation for the settings of this vendor.
    fileprivate init(playing vendor: VendorSettings, _ file: String) throws {
        let place = Place(file: file, line: 1)
        switch vendor.account {
        case .tencent(let tencent) where tencent.channel == .https: self = .tencent
        case .tencent(let tencent) where tencent.channel == .aes: self = .sealed
        case .alibaba(let alibaba) where alibaba.api == .v2 && alibaba.encryption == .none:
            self = .alibaba
        case .json: self = .json
        default:
            throw ScenarioError(place: place, message: "no emulation for vendor \(vendor.name)")
        }
        guard vendor.account.any.source(servers: vendor.servers) == nil else {
            throw ScenarioError(
                place: place,
                message: "\(vendor.name) has no scheduling service here: name its servers"
            )
        }
    }
}
