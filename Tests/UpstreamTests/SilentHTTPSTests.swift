// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Upstream

/// HTTP client with requests that wait until the test ends them.
@ServiceLoop
private final class HeldTransport: HTTPTransport {
    @ServiceLoop
    final class Held: RequestHandle {
        let request: HTTPRequest
        private var completion: Handler?
        let wasSent = true
        let sentAt: Instant?

        var isOver: Bool { completion == nil }

        fileprivate init(
            _ request: HTTPRequest,
            _ sentAt: Instant,
            _ completion: @escaping Handler
        ) {
            (self.request, self.sentAt, self.completion) = (request, sentAt, completion)
        }

        func end(_ result: Result<HTTPReply, HTTPError>) {
            let completion = completion
            self.completion = nil
            completion?(result)
        }

        func answer(reused: Bool = true) {
            var answer = HTTPReply(status: 200, body: reply(to: request.body ?? []))
            answer.contentType = "application/dns-message"
            answer.connectionReused = reused
            end(.success(answer))
        }

        func cancel() { end(.failure(.cancelled)) }

        var name: String? { (try? Message(parsing: request.body ?? []))?.question?.name.text }

        var isSeparate: Bool { request.provider.hasSuffix(" separate") }
    }

    private(set) var sent: [Held] = []

    private let clock: SharedConnectionTests.ManualClock

    init(_ clock: SharedConnectionTests.ManualClock) { self.clock = clock }

    func send(
        _ request: HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        let held = Held(request, clock.now, completion)
        sent.append(held)
        return held
    }

    func last(_ name: String) -> Held? { sent.last { $0.name == name } }

    func reset(only provider: String?) {}

    func replaceConnections(of provider: String) {}
}

@Suite("An upstream over HTTPS with a connection that stays open without replies")
struct SilentHTTPSTests {
    @ServiceLoop
    private struct Client {
        let clock = SharedConnectionTests.ManualClock()
        let http: HeldTransport
        let transport: HTTPSTransport

        init() throws {
            http = HeldTransport(clock)
            transport = HTTPSTransport(
                to: "https://dns.example/dns-query",
                at: try #require(SocketAddress("192.0.2.53:443")),
                certificateFile: nil,
                over: http,
                clocks: clock.clocks
            )
        }

        @discardableResult
        func ask(_ name: Name, of client: UInt32, repeating earlier: Instant? = nil) -> Attempt {
            let attempt = Attempt(
                Query(question: Question(name: name, type: .a)),
                deadline: clock.now + .seconds(2),
                repeating: earlier,
                cancellation: SharedConnectionTests.signal(client),
                Completion { _ in }
            )
            attempt.begin(
                at: Forwarder(
                    name: "doh",
                    url: "",
                    timeout: .seconds(2),
                    over: transport,
                    clocks: clock.clocks
                ),
                clock.now,
                usesEDNS: true
            )
            transport.carry(attempt)
            return attempt
        }

        /// Makes the connection silent after the query for `big.example`.
        func becomeSilent() {
            ask("www.example", of: 1)
            http.last("www.example")?.answer(reused: false)
            clock.advance(by: .seconds(10))
            ask("big.example", of: 1)
            clock.advance(by: UpstreamLimits.grain * 2)
            ask("n1.example", of: 2)
        }
    }

    @Test("the query that made the connection silent moves to a connection of its own")
    @ServiceLoop
    func suspect() throws {
        let client = try Client()
        let http = client.http
        client.becomeSilent()
        let start = client.clock.now
        client.clock.advance(by: UpstreamLimits.silentWait - UpstreamLimits.grain * 2)
        #expect(http.last(".")?.request.wantsFreshConnection == false)
        client.clock.advance(by: UpstreamLimits.silentWait / 2)
        let own = try #require(http.last("."))
        #expect(own.request.wantsFreshConnection)
        #expect(http.last("big.example")?.isSeparate == false)
        let (big, other) = (http.last("big.example"), http.last("n1.example"))
        own.answer(reused: false)
        #expect(big?.isOver == true)
        #expect(other?.isOver == false)
        #expect(http.last("big.example")?.isSeparate == true)
        client.clock.advance(by: UpstreamLimits.silence / 2)
        client.ask("big.example", of: 1, repeating: start)
        client.ask("n1.example", of: 2, repeating: start)
        client.ask("n2.example", of: 2)
        #expect(http.last("big.example")?.isSeparate == true)
        for name in ["n1.example", "n2.example"] {
            #expect(http.last(name)?.isSeparate == false)
            #expect(http.last(name)?.request.wantsFreshConnection == false)
        }
        // An answer on its own connection does not show that the shared connection works.
        http.last("big.example")?.answer(reused: false)
        #expect(client.transport.silentSince != nil)
    }

    @Test("a repeated query opens no connection for other queries; the daemon's own query does")
    @ServiceLoop
    func repetition() throws {
        let client = try Client()
        client.becomeSilent()
        let before = client.http.sent.count
        client.ask("big.example", of: 1, repeating: client.clock.now)
        let new = client.http.sent[before...]
        #expect(new.map(\.name) == [".", "big.example"])
        #expect(new.map(\.request.wantsFreshConnection) == [true, false])
    }

    @Test("one client has at most half of the separate connections that others leave free")
    func shares() {
        var requests = SeparateRequests()
        let addresses = (1...5).map {
            ClientNetwork(of: .v4(IPv4Address(value: $0)), isProven: true)
        }
        let counts = addresses.map { address in
            (1...UpstreamLimits.separateRequests).map { _ in requests.begin(address) }.count { $0 }
        }
        #expect(counts == [4, 2, 1, 1, 0])
        for _ in 1...4 { requests.end(addresses[0]) }
        let isLeft = requests.begin(addresses[4])
        #expect(isLeft)
    }
}
