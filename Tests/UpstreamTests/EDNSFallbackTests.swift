// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

@Suite("An upstream without EDNS (RFC 6891 §7)", .timeLimit(.minutes(15)))
struct EDNSFallbackTests {
    private let harness = UpstreamHarness()

    private final class Played: UpstreamTransport {
        let isProtected = false
        let validates = false
        let repeatsAfter: Duration? = nil
        var reply: (Attempt) -> (rcode: RCode, hasOPT: Bool)
        var sent: [String] = []

        init(_ reply: @escaping (Attempt) -> (rcode: RCode, hasOPT: Bool)) {
            self.reply = reply
        }

        func carry(_ attempt: Attempt) {
            let kind = attempt.query.isProbe ? "own" : "name"
            sent.append("\(kind)\(attempt.usesEDNS ? " EDNS" : "")")
            let (rcode, hasOPT) = reply(attempt)
            var message = Message(header: Header(id: 0))
            if hasOPT { message.edns = EDNS() }
            message.rcode = rcode
            attempt.end(.success(.message(message)))
        }

        func count(in numbers: inout UpstreamNumbers) {}

        func networkChanged() {}
    }

    @ServiceLoop
    private func forwarder(_ transport: Played) -> Forwarder {
        Forwarder(
            name: "it",
            url: "udp://192.0.2.53",
            timeout: .seconds(2),
            over: transport,
            clocks: harness.world.clocks
        )
    }

    @ServiceLoop
    private func ask(_ forwarder: Forwarder) async -> Bool {
        let deadline = harness.world.now + .seconds(2)
        return (try? await forwarder.exchange(UpstreamHarness.query, deadline: deadline)) != nil
    }

    @Test(arguments: [(RCode.formErr, false), (.notImp, false), (.badVers, true)])
    @ServiceLoop
    func `a server that rejects EDNS is queried without EDNS for 15 minutes`(
        _ rcode: RCode,
        _ hasOPT: Bool
    ) async {
        let transport = Played { $0.usesEDNS ? (rcode, hasOPT) : (.noError, false) }
        let forwarder = forwarder(transport)
        #expect(await ask(forwarder))
        #expect(transport.sent == ["name EDNS", "name", "own EDNS"])
        transport.sent = []
        #expect(await ask(forwarder))
        #expect(transport.sent == ["name"])
        #expect(forwarder.numbers.queries == 2)
        await harness.advance(by: UpstreamLimits.noEDNS)
        transport.reply = { _ in (.noError, true) }
        transport.sent = []
        #expect(await ask(forwarder))
        #expect(transport.sent == ["name EDNS"])
    }

    @Test
    @ServiceLoop
    func `a name that fails only with EDNS does not disable EDNS for other names`() async {
        let transport = Played { attempt in
            attempt.usesEDNS && !attempt.query.isProbe ? (.formErr, false) : (.noError, false)
        }
        let forwarder = forwarder(transport)
        #expect(await ask(forwarder))
        transport.reply = { _ in (.noError, true) }
        transport.sent = []
        #expect(await ask(forwarder))
        #expect(transport.sent == ["name EDNS"])
    }

    @Test
    @ServiceLoop
    func `FORMERR with an OPT record does not disable EDNS`() async {
        let transport = Played { _ in (.formErr, true) }
        #expect(await ask(forwarder(transport)) == false)
        #expect(transport.sent == ["name EDNS"])
    }

    @Test
    @ServiceLoop
    func `a network change enables EDNS again`() async {
        let transport = Played { $0.usesEDNS ? (.formErr, false) : (.noError, false) }
        let forwarder = forwarder(transport)
        #expect(await ask(forwarder))
        forwarder.networkChanged()
        transport.sent = []
        #expect(await ask(forwarder))
        #expect(transport.sent == ["name EDNS", "name", "own EDNS"])
    }

    @Test
    @ServiceLoop
    func `a query without EDNS has no OPT record`() throws {
        var random = SystemRandomNumberGenerator()
        let query = UpstreamHarness.query
        for transport in [UpstreamExchange.Transport.datagram, .stream, .encrypted] {
            let exchange = UpstreamExchange(
                query,
                over: transport,
                usesEDNS: false,
                random: &random
            )
            let message = try Message(parsing: exchange.message)
            #expect(message.edns == nil && message.question?.name == query.question.name)
        }
    }

    @Test(arguments: [RCode.formErr, .notImp, .servFail, .refused])
    @ServiceLoop
    func `an error reply without a question is accepted over a stream, but not over UDP`(
        rcode: RCode
    ) {
        var random = SystemRandomNumberGenerator()
        let exchange = UpstreamExchange(UpstreamHarness.query, random: &random)
        var octets = [UInt8](repeating: 0, count: 12)
        octets[0...1] = exchange.message[0...1]
        octets[2...3] = [0x80, UInt8(rcode.rawValue)]
        guard case .doubtful = exchange.validate(octets) else {
            Issue.record("not sent to TCP")
            return
        }
        #expect(exchange.judgeStream(octets)?.rcode == rcode)
        octets[0] ^= 1
        guard case .foreign = exchange.validate(octets) else {
            Issue.record("believed with another ID")
            return
        }
    }
}
