// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

@Suite("Limits of queries in flight over HTTPS")
struct TransferSharesTests {
    private static func client(_ number: UInt32, isProven: Bool = true) -> ClientNetwork {
        ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + number)), isProven: isProven)
    }

    @ServiceLoop
    private final class Transfers {
        private let transfers: UpstreamTransfers
        private(set) var all: [UpstreamTransfers.Transfer] = []
        var milliseconds = 0

        init(_ transfers: UpstreamTransfers) { self.transfers = transfers }

        @discardableResult
        func begin(_ client: ClientNetwork?, isRepetition: Bool = false) -> Bool {
            let now = Instant(nanoseconds: 0) + .milliseconds(milliseconds)
            guard
                let transfer = transfers.begin(client, isRepetition: isRepetition, now: now)
            else { return false }
            all.append(transfer)
            return true
        }

        func fill(_ client: ClientNetwork?, most: Int = .max) -> Int {
            let before = replaced
            var count = 0
            while count < most, begin(client), replaced == before { count += 1 }
            return count
        }

        func end(_ index: Int) { transfers.end(all[index]) }

        var replaced: [Int] { all.indices.filter { all[$0].error != nil } }
    }

    @Test
    @ServiceLoop
    func `settings that are only checked do not reduce the limits of other upstreams`() {
        func capacity(_ names: [String]) -> Int {
            let shares = TransferShares(of: 16)
            let kept = Transfers(shares.transfers(at: "kept"))
            for name in names { _ = shares.transfers(at: name) }
            return kept.fill(nil)
        }
        #expect(capacity(["checked", "former"]) == capacity([]))
    }

    @Test
    @ServiceLoop
    func `an upstream can use half of the transfers that other upstreams do not use`() {
        let shares = TransferShares(of: 16)
        let upstreams = ["silent", "other", "third"].map { Transfers(shares.transfers(at: $0)) }
        #expect(upstreams[0].fill(Self.client(1)) == 7)
        #expect(upstreams[0].fill(Self.client(2), most: 1) == 1)
        #expect(upstreams[1].fill(Self.client(1), most: 3) == 3)
        #expect(upstreams[1].fill(Self.client(2), most: 1) == 1)
        #expect(upstreams[2].fill(nil, most: 8) == 2)
        let same = Transfers(shares.transfers(at: "silent"))
        #expect(!same.begin(Self.client(1)))
        for index in 0..<8 { upstreams[0].end(index) }
        #expect(same.begin(Self.client(1)))
    }

    @Test
    @ServiceLoop
    func `at 7/8 of the transfers, a client's new query replaces its transfer older than 400 ms`() {
        let transfers = Transfers(TransferShares(of: 16).transfers(at: "single"))
        #expect(transfers.fill(Self.client(1)) == 14)
        transfers.milliseconds = 399
        #expect(!transfers.begin(Self.client(1)))
        #expect(transfers.begin(Self.client(2)))
        #expect(transfers.replaced.isEmpty)
        transfers.milliseconds = 400
        #expect(transfers.begin(Self.client(1)))
        #expect(transfers.replaced.count == 1)
        for _ in 0..<13 { #expect(transfers.begin(Self.client(1))) }
        #expect(transfers.replaced == Array(0..<14))
        #expect(!transfers.begin(Self.client(1)), "no transfer of the client is old enough")
    }

    @Test
    @ServiceLoop
    func `a new client replaces the oldest transfer of the client with the most transfers`() {
        let transfers = Transfers(TransferShares(of: 16).transfers(at: "single"))
        #expect(transfers.fill(nil, most: 1) == 1)
        #expect(transfers.fill(Self.client(1), most: 9) == 9)
        #expect(transfers.fill(Self.client(2), most: 6) == 6)
        for number: UInt32 in 3...5 { #expect(transfers.begin(Self.client(number))) }
        #expect(transfers.replaced == [1, 2, 3])
    }

    @Test
    @ServiceLoop
    func `clients without a verified address together replace at most half of the transfers`() {
        let transfers = Transfers(TransferShares(of: 16).transfers(at: "single"))
        #expect(transfers.fill(Self.client(0), most: 12) == 12)
        for number: UInt32 in 1...4 {
            #expect(transfers.begin(Self.client(number, isProven: false)))
        }
        for number: UInt32 in 5...9 {
            #expect(transfers.begin(Self.client(number, isProven: false)))
        }
        transfers.milliseconds = 99
        #expect(!transfers.begin(Self.client(10, isProven: false)), "too soon")
        transfers.milliseconds = 100
        for number: UInt32 in 10...40 {
            transfers.milliseconds += 100
            #expect(transfers.begin(Self.client(number, isProven: false)))
        }
        // The proven client keeps 7 transfers; then the transfers from forged addresses replace
        // each other.
        #expect(transfers.replaced.count { $0 < 12 } == 5)
        #expect(transfers.begin(Self.client(100)), "a new proven client replaces a forged transfer")
        #expect(transfers.replaced.count { $0 < 12 } == 5)
    }

    @Test
    @ServiceLoop
    func `a proven client replaces a transfer from a forged address, even a recent transfer`() {
        let transfers = Transfers(TransferShares(of: 32).transfers(at: "single"))
        var number: UInt32 = 0
        for _ in 0..<100 {
            for _ in 0..<30 {
                number += 1
                transfers.begin(Self.client(number, isProven: false))
            }
            transfers.milliseconds += 10
            #expect(transfers.begin(Self.client(10_000)))
            transfers.end(transfers.all.count - 1)
        }
    }

    @Test
    @ServiceLoop
    func `many clients with many transfers do not replace the transfer of another client`() {
        let transfers = Transfers(TransferShares(of: 16).transfers(at: "single"))
        for number: UInt32 in 1...8 {
            #expect(transfers.fill(Self.client(number), most: 2) == 2)
        }
        #expect(transfers.begin(Self.client(9)))
        for _ in 0..<100 {
            transfers.milliseconds += 10
            for number: UInt32 in 1...8 { transfers.begin(Self.client(number)) }
        }
        #expect(transfers.replaced.count > 16)
        #expect(transfers.all[16].error == nil)
    }

    @Test
    @ServiceLoop
    func `transfers from forged addresses do not replace more recent transfers of a client`() {
        let transfers = Transfers(TransferShares(of: 32).transfers(at: "single"))
        var number: UInt32 = 0
        func forge() {
            number += 1
            transfers.begin(Self.client(number, isProven: false))
        }
        for _ in 0..<29 { forge() }
        transfers.milliseconds = 300
        for _ in 0..<3 { #expect(transfers.begin(Self.client(1_000, isProven: false))) }
        for _ in 0..<20 { forge() }
        #expect(transfers.replaced == Array(0..<20))
    }

    @Test
    @ServiceLoop
    func `the error shows whether the client or all unproven clients reached a limit`() {
        let flood = Transfers(TransferShares(of: 16).transfers(at: "single"))
        #expect(flood.fill(Self.client(1, isProven: false)) == 14)
        flood.milliseconds = 400
        #expect(flood.begin(Self.client(1, isProven: false)))
        #expect(flood.all[0].error == .clientCrowded)
        let crowd = Transfers(TransferShares(of: 16).transfers(at: "single"))
        for number: UInt32 in 1...17 {
            #expect(crowd.begin(Self.client(number, isProven: false)))
            crowd.milliseconds += 100
        }
        #expect(crowd.all[0].error == .crowded)
    }

    @Test
    @ServiceLoop
    func `a query is repeated only if half of the client's limit is free`() {
        let transfers = Transfers(TransferShares(of: 32).transfers(at: "single"))
        #expect(transfers.fill(Self.client(1), most: 13) == 13)
        #expect(transfers.begin(Self.client(1), isRepetition: true))
        #expect(!transfers.begin(Self.client(1), isRepetition: true))
        #expect(transfers.begin(Self.client(1)))
        #expect(transfers.begin(Self.client(2, isProven: false), isRepetition: true))
        for number: UInt32 in 3...9 {
            #expect(transfers.begin(Self.client(number, isProven: false)))
        }
        #expect(!transfers.begin(Self.client(2, isProven: false), isRepetition: true))
        #expect(transfers.begin(Self.client(2), isRepetition: true))
    }
}

// MARK: - HTTP/1.1

extension TransferSharesTests {
    @Test
    @ServiceLoop
    func `over HTTP/1.1, a client runs half of the transfers that other clients leave free`() throws
    {
        let transfers = TransferShares().transfers(at: "single")
        transfers.note(isHTTP1: true)
        let now = Instant(nanoseconds: 0)
        func begin(_ number: UInt32) throws -> UpstreamTransfers.Transfer {
            try #require(transfers.begin(Self.client(number), isRepetition: false, now: now))
        }
        var running: [UpstreamTransfers.Transfer] = []
        var started: [UInt32] = []
        for (number, limit) in [(UInt32(1), 16), (2, 8), (3, 4)] {
            for _ in 0..<limit {
                let transfer = try begin(number)
                #expect(transfers.run(transfer))
                running.append(transfer)
            }
            let waiting = try begin(number)
            #expect(!transfers.run(waiting))
            transfers.enqueue(waiting) { started.append(number) }
        }
        #expect(transfers.begin(Self.client(1), isRepetition: true, now: now) == nil)
        transfers.end(running[0])
        #expect(started == [3])
        for index in 1...5 { transfers.end(running[index]) }
        #expect(started == [3, 2])
        transfers.note(isHTTP1: false)
        #expect(started == [3, 2, 1])
    }

    @Test
    @ServiceLoop
    func `over HTTP/1.1, a waiting transfer of a proven client starts first`() throws {
        let transfers = TransferShares().transfers(at: "single")
        transfers.note(isHTTP1: true)
        func begin(_ client: ClientNetwork) throws -> UpstreamTransfers.Transfer {
            let now = Instant(nanoseconds: 0)
            return try #require(transfers.begin(client, isRepetition: false, now: now))
        }
        let forged = try (1...33).map { try begin(Self.client($0, isProven: false)) }
        #expect(forged.map { transfers.run($0) } == Array(repeating: true, count: 32) + [false])
        var started: [String] = []
        transfers.enqueue(forged[32]) { started.append("forged") }
        let proven = try begin(Self.client(100))
        #expect(!transfers.run(proven))
        transfers.enqueue(proven) { started.append("proven") }
        transfers.end(forged[0])
        #expect(started == ["proven"])
        transfers.end(forged[1])
        #expect(started == ["proven", "forged"])
    }

    @ServiceLoop
    private final class Connections {
        let world = Simulation()
        private let transfers: UpstreamTransfers
        private(set) var replaced: [String] = []
        private(set) var rejected: [String] = []
        private(set) var started: [String] = []

        private final class Request: RequestHandle {
            let wasSent = true
            private let cancelled: @ServiceLoop () -> Void

            init(_ cancelled: @escaping @ServiceLoop () -> Void) { self.cancelled = cancelled }

            func cancel() { cancelled() }
        }

        init() {
            transfers = TransferShares().transfers(at: "single", clocks: world.clocks)
            transfers.note(isHTTP1: true)
        }

        func begin(_ name: String, _ client: ClientNetwork) throws {
            let transfer = try #require(
                transfers.begin(client, isRepetition: false, now: world.now)
            )
            func request(isWaiting: Bool) -> Request {
                Request { [self] in
                    if isWaiting { rejected.append(name) } else { replaced.append(name) }
                    transfers.end(transfer)
                }
            }
            transfer.request = request(isWaiting: false)
            guard !transfers.run(transfer) else { return }
            transfer.request = request(isWaiting: true)
            transfers.enqueue(transfer) { [self] in
                transfer.request = request(isWaiting: false)
                started.append(name)
            }
        }
    }

    @Test
    @ServiceLoop
    func `over HTTP/1.1, a client without a connection replaces a transfer older than 400 ms`()
        async throws
    {
        let connections = Connections()
        let world = connections.world
        func begin(_ client: UInt32, _ count: Int = 1) throws {
            for number in 1...count {
                try connections.begin("\(client).\(number)", Self.client(client))
            }
        }
        for (client, count) in [(UInt32(1), 17), (2, 8), (3, 4), (4, 2), (5, 1)] {
            try begin(client, count)
            await world.advance(by: .milliseconds(100))
        }
        await world.advance(by: .seconds(1))
        #expect(connections.replaced.isEmpty, "every client has a connection")
        try begin(6)
        #expect(connections.replaced.isEmpty, "a connection was free")
        try begin(7)
        #expect(connections.replaced == ["1.1"] && connections.started == ["7.1"])
        await world.advance(by: .seconds(1))
        #expect(connections.replaced.count == 1)
    }

    @Test
    @ServiceLoop
    func `over HTTP/1.1, a client that has used few connections keeps a connection for longer`()
        async throws
    {
        let connections = Connections()
        let world = connections.world
        for client: UInt32 in 1...31 { try connections.begin("\(client)", Self.client(client)) }
        await world.advance(by: .milliseconds(1_000))
        try connections.begin("slow", Self.client(50))
        await world.advance(by: .milliseconds(399))
        #expect(connections.replaced.isEmpty)
        for client: UInt32 in 101...131 {
            try connections.begin("\(client)", Self.client(client))
            await world.advance(by: .milliseconds(10))
        }
        #expect(connections.replaced.count == 31 && !connections.replaced.contains("slow"))
        try connections.begin("late", Self.client(132))
        #expect(connections.replaced.last == "slow")
        try connections.begin("later", Self.client(133))
        #expect(connections.replaced.count == 32, "the other transfers run for less than 400 ms")
        await world.advance(by: .milliseconds(400))
        #expect(connections.replaced.count == 33 && connections.started.last == "later")
    }

    @Test
    @ServiceLoop
    func `over HTTP/1.1, forged addresses keep a quarter of the connections, but not more`()
        async throws
    {
        let connections = Connections()
        let world = connections.world
        for number: UInt32 in 1...100 {
            try connections.begin("forged", Self.client(1_000 + number, isProven: false))
        }
        await world.advance(by: .milliseconds(400))
        #expect(connections.replaced.count == 32 && connections.started.count == 32)
        #expect(connections.rejected.count == 36, "68 transfers waited, and 32 of them started")
        for number: UInt32 in 1...40 {
            try connections.begin("forged", Self.client(2_000 + number, isProven: false))
            try connections.begin("proven", Self.client(number))
        }
        await world.advance(by: .milliseconds(400))
        #expect(connections.started.dropFirst(32).count { $0 == "proven" } == 24)
        for number: UInt32 in 1...40 {
            try connections.begin("forged", Self.client(3_000 + number, isProven: false))
        }
        await world.advance(by: .milliseconds(400))
        #expect(connections.started.dropFirst(56).count { $0 == "proven" } == 16)
        #expect(connections.started.dropFirst(56).count { $0 == "forged" } == 8)
    }

    @Test
    @ServiceLoop
    func
        `over HTTP/1.1, slow names from forged addresses delay truncated replies to 0.5 s at most`()
        async throws
    {
        let upstreams = try Upstreams(version: "1.1")
        try upstreams.ask("good", 0, for: Self.client(1))
        await upstreams.world.advance(by: .milliseconds(100))
        for number in 1...600 {
            try upstreams.ask("dead", number, for: Self.client(UInt32(number), isProven: false))
            if number.isMultiple(of: 10) {
                try upstreams.ask("lan", number, for: Self.client(10_000, isProven: false))
            }
            await upstreams.world.advance(by: .milliseconds(10))
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["lan", default: []].allSatisfy { $0 == .crowded })
        // A query waits 400 ms, or 500 ms if its client already has a query on a connection.
        let slowest = try #require(upstreams.slowest["lan"])
        #expect(slowest <= .milliseconds(500))
        #expect(upstreams.inTheClear == 0)
    }

    @Test(arguments: [20, 120])
    @ServiceLoop
    func `over HTTP/1.1, unanswered names of 40 clients do not make other names fail`(
        rate: Int
    ) async throws {
        let upstreams = try Upstreams(version: "1.1")
        try upstreams.ask("good", 0, for: Self.client(100))
        await upstreams.world.advance(by: .milliseconds(100))
        for number in 1...(rate * 6) {
            try upstreams.ask("dead", number, for: Self.client(UInt32(number % 40)))
            if number % (rate / 10) == 0 {
                try upstreams.ask("local", number, for: Self.client(100))
                try upstreams.ask("lan", number, for: Self.client(101, isProven: false))
            }
            await upstreams.world.advance(by: .seconds(1) / rate)
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["local"] == nil && upstreams.failed["lan"] == nil)
        #expect(upstreams.failed["dead"]?.contains(.crowded) == false)
        #expect(upstreams.answered == 121)
        #expect(upstreams.inTheClear == 0)
    }

    @Test
    @ServiceLoop
    func `over HTTP/1.1, unanswered names of a client leave half of the connections to others`()
        async throws
    {
        let upstreams = try Upstreams(version: "1.1")
        func sent(_ work: () throws -> Void) rethrows -> Int {
            let before = upstreams.world.sent.count
            try work()
            return upstreams.world.sent.count - before
        }
        try upstreams.ask("good", 0, for: Self.client(1))
        await upstreams.world.advance(by: .milliseconds(100))
        let dead = try sent {
            for number in 0..<60 { try upstreams.ask("dead", number, for: Self.client(1)) }
        }
        #expect(dead == UpstreamLimits.connections / 2)
        #expect(try sent { try upstreams.ask("good", 1, for: Self.client(2)) } == 1)
        await upstreams.world.advance(by: .milliseconds(100))
        #expect(upstreams.answered == 2)
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["dead"]?.count == 60)
        #expect(upstreams.inTheClear == 0)
    }
}

// MARK: - With a server

extension TransferSharesTests {
    /// HTTP client for probes; its connections are never silent.
    @ServiceLoop
    private final class Probes: HTTPTransport {
        nonisolated static let provider = "probes"
        private let world: Simulation

        init(_ world: Simulation) { self.world = world }

        func send(
            _ request: HTTPRequest,
            deadline: Instant,
            _ completion: @escaping Handler
        ) -> any RequestHandle {
            var request = request
            request.provider = Self.provider
            return world.send(request, deadline: deadline, completion)
        }

        func reset(only provider: String?) {}

        func replaceConnections(of provider: String) {}
    }

    @ServiceLoop
    private final class Upstreams {
        let world = Simulation()
        private let group: UpstreamGroup
        private let plain: ScriptedUpstream

        /// True while the connection is silent; a request for a new connection ends the silence.
        var isSilent = false

        /// True while the host answers only queries of the daemon; ends like `isSilent`.
        var isDeafToNames = false

        var delay: Duration = .milliseconds(20)

        private(set) var opened = 0
        private(set) var failed: [String: [UpstreamError]] = [:]
        private(set) var answered = 0
        private(set) var inTheClear = 0

        private(set) var slowest: [String: Duration] = [:]

        init(servers: Int = 1, version: String = "2") throws {
            let harness = UpstreamHarness()
            plain = ScriptedUpstream("plain", in: harness) { _ in .answer(1) }
            let server = try #require(SocketAddress("192.0.2.53:443"))
            let (shares, clocks) = (TransferShares(), world.clocks)
            let members: [any Forwarding] = (0..<servers).map { [world] number in
                Forwarder(
                    name: "doh\(number)",
                    url: "https://dns\(number).example/dns-query",
                    timeout: .seconds(2),
                    over: HTTPSTransport(
                        to: "https://dns\(number).example/dns-query",
                        at: server,
                        certificateFile: nil,
                        over: world,
                        probes: Probes(world),
                        shares: shares,
                        clocks: clocks
                    ),
                    clocks: clocks
                )
            }
            group = UpstreamGroup(members + [plain], health: HealthTable(clocks: clocks))
            world.script = { [unowned self] request in
                let body = request.body ?? []
                let isProbe = request.provider == Probes.provider
                if !isProbe, request.wantsFreshConnection {
                    (isSilent, isDeafToNames, opened) = (false, false, opened + 1)
                }
                guard let query = try? Message(parsing: body), isProbe || !isSilent,
                    let name = query.question?.name.text, !name.hasPrefix("dead"),
                    !isDeafToNames || !name.hasSuffix(".example")
                else { return .silence(reused: true) }
                var answer = HTTPReply(status: 200, body: reply(to: body) { _ in })
                answer.contentType = "application/dns-message"
                answer.version = version
                return .reply(answer, after: isProbe ? .milliseconds(20) : delay)
            }
        }

        func ask(_ label: String, _ number: Int, for client: ClientNetwork) throws {
            let query = Query(
                question: Question(name: try Name("\(label)\(number).example"), type: .a),
                dnssecOK: false,
                checkingDisabled: false
            )
            group.ask(
                query,
                deadline: world.now + .milliseconds(4_800),
                cancellation: CancellationSignal(client: client),
                Completion { [self, start = world.now] outcome in
                    slowest[label] = max(slowest[label] ?? .zero, start.duration(to: world.now))
                    switch outcome {
                    case .success(let reply):
                        if reply.upstream === plain { inTheClear += 1 } else { answered += 1 }
                    case .failure(let error):
                        failed[label, default: []].append(error)
                    }
                }
            )
        }
    }

    @Test(arguments: [(25, 1), (40, 1), (100, 1), (300, 1), (40, 2), (100, 2)])
    @ServiceLoop
    func `unanswered names of a client do not make other names of this client fail`(
        rate: Int,
        servers: Int
    ) async throws {
        let upstreams = try Upstreams(servers: servers)
        for number in 0..<(rate * 6) {
            try upstreams.ask("dead", number, for: Self.client(1))
            if number % 4 == 3 { try upstreams.ask("good", number, for: Self.client(1)) }
            await upstreams.world.advance(by: .seconds(1) / rate)
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["good"] == nil)
        #expect(upstreams.answered == rate * 6 / 4)
        #expect(upstreams.failed["dead"]?.count == rate * 6)
        #expect(upstreams.inTheClear == 0)
    }

    @Test(arguments: [115, 150, 300, 600])
    @ServiceLoop
    func `a silent connection is replaced although new transfers replace older transfers`(
        rate: Int
    ) async throws {
        let upstreams = try Upstreams()
        for number in 0..<(rate * 5) {
            upstreams.isSilent = upstreams.isSilent || number == rate
            let isLater = number > rate * 5 / 2
            try upstreams.ask(isLater ? "later" : "good", number, for: Self.client(1))
            await upstreams.world.advance(by: .seconds(1) / rate)
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["later"] == nil)
        #expect(upstreams.opened == 1)
        #expect(upstreams.inTheClear == 0)
    }

    @Test(arguments: [1, 10, 100, 300])
    @ServiceLoop
    func `queries for dead names cause new connections only at doubling intervals`(
        rate: Int
    ) async throws {
        let upstreams = try Upstreams()
        var earlier = 0
        for number in 0..<(rate * 60) {
            if number == rate * 20 { earlier = upstreams.opened }
            try upstreams.ask("dead", number, for: Self.client(1))
            await upstreams.world.advance(by: .seconds(1) / rate)
        }
        #expect(earlier <= 8)
        #expect(upstreams.opened - earlier <= 2)
        #expect(upstreams.inTheClear == 0)
    }

    @Test(arguments: [1, 10, 100])
    @ServiceLoop
    func `queries for dead names cause no new connections while other names are answered`(
        rate: Int
    ) async throws {
        let upstreams = try Upstreams()
        for number in 0..<(rate * 10) {
            try upstreams.ask("dead", number, for: Self.client(1))
            try upstreams.ask("good", number, for: Self.client(2))
            await upstreams.world.advance(by: .seconds(1) / rate)
        }
        #expect(upstreams.opened == 0)
        #expect(upstreams.failed["good"] == nil)
    }

    @Test
    @ServiceLoop
    func `a connection to a host that answers only queries of the daemon is replaced`()
        async throws
    {
        let upstreams = try Upstreams()
        upstreams.isDeafToNames = true
        for number in 0..<200 {
            try upstreams.ask(number < 40 ? "early" : "later", number, for: Self.client(1))
            await upstreams.world.advance(by: .milliseconds(50))
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.opened == 1)
        #expect(upstreams.failed.isEmpty && upstreams.inTheClear == 0)
        #expect(upstreams.answered == 200)
    }

    @Test
    @ServiceLoop
    func `over HTTP 1, a client with too many names loses only the excess`() async throws {
        let upstreams = try Upstreams(version: "1.1")
        upstreams.delay = .milliseconds(600)
        // At most 26 names a second have a connection.
        for number in 0..<400 {
            try upstreams.ask("name", number, for: Self.client(1))
            await upstreams.world.advance(by: .milliseconds(25))
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.answered > 200)
    }

    @Test
    @ServiceLoop
    func `a server that never replies gets at most one new connection a second`() async throws {
        let upstreams = try Upstreams()
        let script = upstreams.world.script
        upstreams.world.script = { request in
            _ = script(request)
            return request.provider == Probes.provider ? script(request) : .silence(reused: true)
        }
        for number in 0..<1_000 {
            try upstreams.ask("name", number, for: Self.client(UInt32(number % 5)))
            await upstreams.world.advance(by: .milliseconds(10))
        }
        #expect((8...11).contains(upstreams.opened))
    }

    @Test(
        arguments: [UpstreamError.rateLimited, .declined(.servFail, because: nil), .timedOut],
        [UpstreamError.crowded, .clientCrowded]
    )
    @ServiceLoop
    func `if one server is crowded and the other fails, the query ends with the error crowded`(
        error: UpstreamError,
        limit: UpstreamError
    ) async throws {
        let harness = UpstreamHarness()
        let crowded = ScriptedUpstream("crowded", in: harness) { _ in .fail(limit) }
        let other = ScriptedUpstream("other", in: harness) { _ in .fail(error, 10) }
        #expect(try await harness.ask(harness.group(crowded, other)) == .failure(limit))
        #expect(try await harness.ask(harness.group(other, crowded)) == .failure(limit))
        other.script = { _ in .answer(10) }
        #expect(try await harness.ask(harness.group(crowded, other)) == .success("other"))
    }

    @Test(arguments: ["1.1", "2"])
    @ServiceLoop
    func `unanswered names of an unproven client fail because of the limit of this client`(
        version: String
    ) async throws {
        let upstreams = try Upstreams(version: version)
        try upstreams.ask("good", 0, for: Self.client(1))
        for number in 0..<1_500 {
            await upstreams.world.advance(by: .seconds(1) / 500)
            try upstreams.ask("dead", number, for: Self.client(2, isProven: false))
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["dead"]?.contains(.clientCrowded) == true)
        #expect(upstreams.failed["dead"]?.contains(.crowded) == false)
    }

    @Test
    @ServiceLoop
    func `unanswered names from forged addresses do not make names of other clients fail`()
        async throws
    {
        let upstreams = try Upstreams()
        for number in 0..<3_000 {
            let forged = Self.client(UInt32(1_000 + number % 1_000), isProven: false)
            try upstreams.ask("dead", number, for: forged)
            if number % 50 == 0 {
                try upstreams.ask("local", number, for: Self.client(1))
                try upstreams.ask("lan", number, for: Self.client(2, isProven: false))
            }
            await upstreams.world.advance(by: .seconds(1) / 600)
        }
        await upstreams.world.advance(by: .seconds(5))
        #expect(upstreams.failed["local"] == nil && upstreams.failed["lan"] == nil)
        #expect(upstreams.failed["dead"]?.contains(.crowded) == true)
        #expect(upstreams.failed["dead"]?.contains(.clientCrowded) == false)
        #expect(upstreams.answered == 120)
        #expect(upstreams.inTheClear == 0)
    }

    @Test
    @ServiceLoop
    func `a probe is sent although the client queries use all transfers`() async throws {
        let world = Simulation()
        let server = try #require(SocketAddress("192.0.2.53:443"))
        let shares = TransferShares(of: 1)
        let transport = HTTPSTransport(
            to: "https://dns.example/dns-query",
            at: server,
            certificateFile: nil,
            over: world,
            shares: shares,
            clocks: world.clocks
        )
        let transfers = shares.transfers(at: "https://dns.example/dns-query")
        let first = try #require(
            transfers.begin(nil, isRepetition: false, now: Instant(nanoseconds: 0))
        )
        var errors: [UpstreamError] = []
        func carry(_ query: Query) {
            let completion = Completion<Attempt> {
                if case .failure(let error) = $0.outcome { errors.append(error) }
            }
            transport.carry(Attempt(query, deadline: world.now + .seconds(300), completion))
        }
        carry(UpstreamHarness.query)
        carry(.probe)
        #expect(errors == [.clientCrowded])
        #expect(world.sent.count == 1)
        transfers.end(first)
        carry(UpstreamHarness.query)
        #expect(world.sent.count == 2)
    }
}
