// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Frontend

@Suite("DNS cookies of a listener (RFC 7873 §5.2, RFC 9018)", .timeLimit(.minutes(15)))
struct ListeningCookieTests {
    private static let client = Array("cookie/8".utf8)
    private static let terms = CookieTerms(
        secrets: CookieSecrets(CookieSecret(low: 1, high: 2)),
        time: 1_000
    )

    private static func clientContext(
        _ terms: CookieTerms?,
        at address: UInt32 = 0xC000_0207,
        isAllowed: Bool = true
    ) -> ClientContext {
        ClientContext(
            transport: .udp,
            address: .v4(IPv4Address(value: address)),
            isAllowed: isAllowed,
            cookies: terms
        )
    }

    private static func asking(_ options: EDNSOption...) throws -> [UInt8] {
        try query("www.example.com", id: 7) { $0.edns = EDNS(options: options) }
    }

    @ServiceLoop
    private static func reply(_ octets: [UInt8], _ clientContext: ClientContext) throws -> Message {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        switch harness.handler.look(at: octets, from: clientContext, arrival: Clock.now) {
        case .reply(let reply), .malformed(let reply): return try Message(parsing: reply)
        case .nothing, .question: throw Missing()
        }
    }

    private struct Missing: Error {}

    @Test
    @ServiceLoop
    func `a client cookie is answered with a cookie pair, which then proves the address`() throws {
        let first = try Self.reply(
            Self.asking(.cookie(client: Self.client, server: [])),
            Self.clientContext(Self.terms)
        )
        #expect(first.answers.count == 1)
        let cookie = try #require(first.edns?.cookie)
        #expect(cookie.client == Self.client)
        #expect(cookie.server.count == 16)

        let again = try Self.asking(.cookie(client: Self.client, server: cookie.server))
        for (clientContext, isProven) in [
            (Self.clientContext(Self.terms), true),
            (Self.clientContext(Self.terms, at: 0xC000_0208), false),
            (Self.clientContext(nil), false),
        ] {
            var buffer = again + [UInt8](repeating: 0, count: 512)
            let look = buffer.withMutableRawSpan { span in
                QueryValidation(at: &span, count: again.count, from: clientContext)
            }
            guard case .query(_, let found) = look else {
                Issue.record("no query")
                continue
            }
            #expect(found == isProven)
        }
    }

    @Test
    @ServiceLoop
    func `a wrong server cookie is not an error`() throws {
        let reply = try Self.reply(
            Self.asking(.cookie(client: Self.client, server: [UInt8](repeating: 9, count: 16))),
            Self.clientContext(Self.terms)
        )
        #expect(reply.rcode == .noError)
        #expect(reply.answers.count == 1)
        #expect(reply.edns?.cookie?.server.count == 16)
    }

    @Test(arguments: [0, 1, 7, 9, 15, 41])
    @ServiceLoop
    func `a cookie of invalid length causes FORMERR, but is ignored on loopback`(
        _ count: Int
    ) throws {
        let octets = try Self.asking(
            .unknown(code: EDNSOption.Code.cookie, octets: [UInt8](repeating: 1, count: count))
        )
        let reply = try Self.reply(octets, Self.clientContext(Self.terms))
        #expect(reply.rcode == .formErr)
        #expect(reply.edns != nil)
        #expect(reply.question?.name == (try Name("www.example.com")))
        let ignored = try Self.reply(octets, Self.clientContext(nil))
        #expect(ignored.rcode == .noError)
        #expect(ignored.edns?.options == [])
    }

    @Test
    @ServiceLoop
    func `replies to loopback clients have no cookie`() throws {
        let reply = try Self.reply(
            Self.asking(.cookie(client: Self.client, server: [])),
            Self.clientContext(nil)
        )
        #expect(reply.answers.count == 1)
        #expect(reply.edns?.options == [])
    }

    @Test
    @ServiceLoop
    func `a client without access gets a cookie and an EDE, but no answer`() throws {
        let reply = try Self.reply(
            Self.asking(.cookie(client: Self.client, server: [])),
            Self.clientContext(Self.terms, isAllowed: false)
        )
        #expect(reply.rcode == .refused)
        #expect(reply.edns?.cookie?.server.count == 16)
        #expect(reply.edns?.extendedErrors.map(\.code) == [.prohibited])
    }

    @Test
    @ServiceLoop
    func `the reply to a signed query with a cookie has this cookie`() throws {
        let octets = try query("www.example.com", id: 7) { message in
            message.additionals = [
                Record(
                    name: .root,
                    type: .tsig,
                    recordClass: .any,
                    ttl: 0,
                    data: .opaque([1, 2, 3])
                )
            ]
            message.edns = EDNS(options: [.cookie(client: Self.client, server: [])])
        }
        let reply = try Self.reply(octets, Self.clientContext(Self.terms))
        #expect(reply.answers.count == 1)
        #expect(reply.edns?.cookie?.client == Self.client)
    }

    @Test
    @ServiceLoop
    func `a message without a question gets a cookie if cookies are enabled (§5.4)`() throws {
        var header = Header(id: 7)
        header.recursionDesired = true
        let octets = Message(
            header: header,
            edns: EDNS(options: [.cookie(client: Self.client, server: [])])
        ).encoded()
        let reply = try Self.reply(octets, Self.clientContext(Self.terms))
        #expect(reply.rcode == .noError)
        #expect(reply.header.id == 7)
        #expect(reply.header.isResponse)
        #expect(reply.questions.isEmpty)
        #expect(reply.edns?.cookie?.server.count == 16)
        for (octets, clientContext) in [
            (octets, Self.clientContext(nil)),
            (octets, Self.clientContext(Self.terms, isAllowed: false)),
            (Message(header: header, edns: EDNS()).encoded(), Self.clientContext(Self.terms)),
        ] {
            #expect(try Self.reply(octets, clientContext).rcode == .formErr)
        }
    }

    @Test
    func `the cookie secret changes daily, and the previous secret stays valid`() {
        let start = Clock.now
        let jar = CookieJar(now: start)
        func terms(_ hours: Int) -> CookieTerms {
            jar.terms(now: start + .seconds(3600 * hours), wallSeconds: Int64(3600 * hours))
        }
        let address = IPAddress.v4(IPv4Address(value: 0xC000_0207))
        let first = terms(23)
        #expect(terms(0).secrets == first.secrets)
        let cookie = first.decision(on: 5, nil, of: address).cookie
        let second = terms(24)
        #expect(second.secrets.previous == first.secrets.current)
        #expect(second.decision(on: 5, cookie, of: address).isProven)
        #expect(CookieJar(now: start).terms(now: start, wallSeconds: 0).secrets != first.secrets)
    }
}
