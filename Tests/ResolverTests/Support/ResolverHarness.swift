// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@ServiceLoop
final class ResolverHarness {
    let world: Simulation
    let cache: AnswerCache
    let upstream: ScriptedUpstream?
    let resolver: Resolver
    let accounts: [Account]
    let vendors: [VendorClient]

    var zone = ResolverHarness.zone

    /// Connection times of servers, by address and port (`192.0.2.1 443`).
    ///
    /// Servers that are not listed do not respond.
    var latencies: [String: Duration] = [:]

    private(set) var tried: [(at: Instant, whom: String)] = []

    var snapshot: [UInt8] = []

    /// Faults by server, such as `tencent 1`.
    var faults: [String: Fault] = [:]

    private(set) var asked: [(at: Instant, whom: String)] = []

    private final class Box {
        weak var harness: ResolverHarness?
    }
    private let prober = Box()

    private var mistakes: [any Error] = []

    init(
        _ accounts: Account...,
        servers count: Int = 2,
        encrypted: ScriptedUpstream? = nil,
        upstream: ScriptedUpstream? = ScriptedUpstream(),
        policy: TTLPolicy = TTLPolicy(),
        answers: AnswerPolicy = AnswerPolicy(),
        freshness: Freshness = Freshness(),
        fallsBack: Bool = true,
        allowsPrivateAnswers: Bool = false,
        servesStale: Bool = true,
        nat64: NAT64Prefix? = nil,
        world: Simulation = Simulation(),
        configure: (inout VendorClient.Settings) -> Void = { _ in },
        options: (inout Route.Options) -> Void = { _ in },
        routes make: ((inout RouteTable) -> Void)? = nil
    ) throws {
        self.world = world
        self.accounts = accounts
        self.upstream = upstream
        cache = AnswerCache(limit: 1 << 20, origin: world.now, seed: 1)
        var settings = VendorClient.Settings()
        settings.families = .both
        configure(&settings)
        vendors = try accounts.map { [world] account in
            VendorClient(
                name: account.rawValue,
                vendor: try account.vendor(),
                servers: try account.servers(count),
                settings: settings,
                transport: world,
                clocks: world.clocks
            )
        }
        var routeOptions = Route.Options()
        options(&routeOptions)
        var table = RouteTable()
        if let make {
            make(&table)
        } else if !vendors.isEmpty {
            table.add(
                Route(
                    place: "test:1",
                    vendors: vendors,
                    upstreams: nil,
                    fallsBack: fallsBack,
                    allowsPrivateAnswers: allowsPrivateAnswers,
                    servesStale: servesStale,
                    options: routeOptions
                ),
                for: [.suffix("example.com")],
                except: []
            )
        }
        let synthesis = nat64.map { [world] prefix in
            NAT64(.fixed(prefix), clocks: world.clocks, probe: StackProbe(routes: { .v6 }))
        }
        synthesis?.networkChanged()
        resolver = Resolver(
            routes: table,
            standard: upstream.map { [world] in
                UpstreamGroup(
                    [encrypted, $0].compactMap(\.self),
                    health: HealthTable(clocks: world.clocks)
                )
            },
            policy: policy,
            answers: answers,
            nat64: synthesis,
            probe: { [prober] target, deadline in
                await prober.harness?.attempt(target, deadline) ?? false
            },
            freshness: freshness,
            cache: cache,
            clocks: world.clocks
        )
        prober.harness = self
        for server in [encrypted, upstream].compactMap(\.self) {
            server.world = world
            server.note = { [unowned self, unowned server] query in
                note("\(server.name) \(query.question.type)")
            }
        }
        world.script = { [unowned self] request in step(for: request) }
    }

    static let zone: [String: Known] = [
        "www.example.com": Known(v4: ["192.0.2.101", "192.0.2.102"], v6: ["2001:db8::101"]),
        "four.example.com": Known(v4: ["192.0.2.104"], ttl4: 90),
        "six.example.com": Known(v6: ["2001:db8::106"], ttl6: 90),
        "none.example.com": Known(),
    ]

    private static let trialNames: Set<String> = [
        "www.dnspod.cn", "resolvers.httpdns.aliyuncs.com", "dns.example.net",
    ]

    private var billed: [UInt64] {
        vendors.map { vendor in
            let trials = vendor.costliestNames(1_000).filter {
                Self.trialNames.contains("\($0.name)".trimmingFinalDot)
            }
            return vendor.statistics.billable - trials.reduce(0) { $0 + $1.calls }
        }
    }

    private func note(_ whom: String) { asked.append((world.now, whom)) }

    private func attempt(
        _ target: AddressRanking.Target,
        _ deadline: Instant
    ) async -> Bool {
        let server = "\(target.address) \(target.port)"
        tried.append((world.now, server))
        let end = latencies[server].map { min(deadline, world.now + $0) } ?? deadline
        try? await world.clocks.sleep(end)
        return end < deadline
    }

    private func step(for request: HTTPRequest) -> Simulation.Step {
        let digits = Int(request.server.host.split(separator: ".").last ?? "") ?? 0
        guard let account = accounts.first(where: { digits / 10 * 10 == $0.base }) else {
            mistakes.append(NothingHappens())
            return .silence()
        }
        let server = "\(account.rawValue) \(digits % 10)"
        do {
            let names = try account.names(in: request)
            if Self.trialNames.isDisjoint(with: names) {
                note(names.count > 1 ? "\(server) for \(names.count)" : server)
            }
            return try account.step(
                to: request,
                zone,
                faults[server],
                wallSeconds: world.wallSeconds
            )
        } catch {
            mistakes.append(error)
            return .silence()
        }
    }
}

extension ResolverHarness {
    func begin(
        _ name: Name,
        _ type: RecordType = .a,
        dnssecOK: Bool = false,
        checkingDisabled: Bool = false,
        within time: Duration = ResolverLimits.total
    ) -> Asked {
        let query = Query(
            question: Question(name: name, type: type),
            dnssecOK: dnssecOK,
            checkingDisabled: checkingDisabled
        )
        let deadline = world.now + time
        let operation = world.begin { [resolver] in
            await resolver.resolve(query, deadline: deadline)
        }
        return Asked(query: query, operation: operation, asked: asked.count, billed: billed)
    }

    func answer(to asked: Asked) async throws -> Answer {
        let resolution = try await world.value(of: asked.operation)
        if let mistake = mistakes.first { throw mistake }
        return try Answer(resolution, to: asked.query.question)
    }

    func ask(
        _ name: Name,
        _ type: RecordType = .a,
        dnssecOK: Bool = false,
        checkingDisabled: Bool = false
    ) async throws -> Answer {
        try await answer(
            to: begin(name, type, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
        )
    }

    func begin(
        _ name: Name,
        _ type: RecordType = .a,
        of client: UInt32,
        _ completion: @escaping @ServiceLoop (String) -> Void = { _ in }
    ) {
        resolver.resolve(
            Query(question: Question(name: name, type: type)),
            of: ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + client)), isProven: true),
            deadline: world.now + ResolverLimits.total,
            Completion { [origins = resolver.origins] resolution in
                completion(origins.name(resolution.provenance.origin))
            }
        )
    }

    func hit(_ name: Name, _ type: RecordType = .a) throws -> Message? {
        let query = Query(question: Question(name: name, type: type))
        var message = Message(header: Header())
        message.questions = [query.question]
        message.edns = EDNS(udpPayloadSize: 1232)
        var octets = message.encoded()
        let facts = try QueryFacts(checking: octets.rawSpan)
        octets += [UInt8](repeating: 0, count: 1232 - octets.count)
        let hit = cache.withTable(now: world.now) { table, now in
            octets.withMutableRawSpan { table.answer(facts, in: &$0, limit: 1232, now: now) }
        }
        guard let hit else { return nil }
        if hit.wantsRefresh { resolver.prefetcher.refresh(query, for: nil) }
        return try Message(parsing: Array(octets[..<hit.length]))
    }

    var askedAt: [String] {
        asked.map { at, server in "\(server) at \((at - world.start).milliseconds / 1_000) s" }
    }

    func cached(_ name: Name) -> [String] {
        cache.entries(named: name, type: nil, now: world.now).map { entry in
            "\(entry.type) \(entry.message?.answers.count ?? -1)"
        }
    }

    @discardableResult
    func networkChanged() -> Int {
        resolver.networkChanged()
        var sweep = CacheSweep(cache, .all, .markStale, storedUpTo: world.now)
        while sweep.step(now: world.now) {}
        return sweep.count
    }

    func emptyCache() { cache.remove(.all, now: world.now) }

    func origin(_ answer: Answer) -> String {
        resolver.origins.name(answer.resolution.provenance.origin)
    }
}

@ServiceLoop
struct Asked {
    let query: Query
    let operation: TestOperation<Resolution>

    let asked: Int

    let billed: [UInt64]
}

extension ResolverHarness {
    /// Sends a query, and compares its result, as text, with `story`.
    ///
    ///     NOERROR from tencent/192.0.2.11:443 after 20 ms
    ///     answer: A 192.0.2.101 60
    ///     asked: tencent 1 at 0
    ///     kept: A 60, AAAA NODATA 60
    ///     billed: tencent 1
    ///
    /// The number after a record is its TTL; an SOA record also has its minimum field. `asked` has
    /// times in milliseconds since the start of the query. `kept` has the cache entries, with the
    /// remaining time in seconds. `billed` has the number of billed requests.
    func expect(
        _ name: Name,
        _ type: RecordType = .a,
        story: String,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await expect(begin(name, type), story: story, comment, sourceLocation: sourceLocation)
    }

    func expect(
        _ asked: Asked,
        story: String,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let told = try await self.story(of: asked)
        #expect(told == story, comment, sourceLocation: sourceLocation)
    }

    func story(of asked: Asked) async throws -> String {
        let answer = try await answer(to: asked)
        let took = (asked.operation.end ?? world.now) - asked.operation.start
        var lines = ["\(answer.rcode) from \(origin(answer)) after \(took.milliseconds) ms"]
        if let explanation = answer.resolution.explanation {
            lines.append("EDE \(explanation.code.rawValue): \(explanation.text)")
        }
        lines += Self.line("answer", answer.message.answers.map(Self.text))
        lines += Self.line("authority", answer.message.authorities.map(Self.text))
        lines += Self.line("additional", answer.message.additionals.map(Self.text))
        lines += Self.line(
            "asked",
            self.asked.dropFirst(asked.asked).map { at, server in
                "\(server) at \((at - asked.operation.start).milliseconds)"
            }
        )
        lines += Self.line("kept", kept(asked.query.question.name))
        lines += Self.line(
            "billed",
            zip(zip(vendors, billed), asked.billed).compactMap { now, before in
                let (vendor, calls) = (now.0, now.1 - before)
                return calls == 0 ? nil : "\(vendor.name) \(calls)"
            }
        )
        return lines.joined(separator: "\n")
    }

    func kept(_ name: Name) -> [String] {
        cache.entries(named: name, type: nil, now: world.now).filter { $0.remaining > 0 }
            .map { entry in
                let kind =
                    entry.rcode != .noError
                    ? " \(entry.rcode)" : entry.isNegative ? " NODATA" : ""
                return "\(entry.type)\(kind) \(entry.remaining)"
            }
    }

    private static func line(_ label: String, _ parts: [String]) -> [String] {
        parts.isEmpty ? [] : ["\(label): \(parts.joined(separator: ", "))"]
    }

    private static func text(of record: Record) -> String {
        guard case .soa(let soa) = record.data else {
            return "\(record.type) \(record.data) \(record.ttl)"
        }
        return "SOA \(record.name) \(record.ttl) \(soa.minimum)"
    }
}

extension String {
    fileprivate var trimmingFinalDot: String { hasSuffix(".") ? String(dropLast()) : self }
}
