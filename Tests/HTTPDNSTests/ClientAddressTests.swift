// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("The client address that a vendor sees")
struct ClientAddressTests {
    let world = Simulation()

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let vendor: @Sendable () throws -> any Vendor
        let body: String
        var expected: String? = "203.0.113.9"
    }

    static let cases: [Case] = [
        Case(
            testDescription: "tencent",
            vendor: { try plainTencent() },
            body: "www.example.com.:192.0.2.1,60-0|203.0.113.9"
        ),
        Case(
            testDescription: "tencent, IPv6",
            vendor: { try plainTencent() },
            body: "www.example.com.:192.0.2.1,60-0|2001:db8::9",
            expected: "2001:db8::9"
        ),
        Case(
            testDescription: "tencent without the address",
            vendor: { try plainTencent() },
            body: "www.example.com.:192.0.2.1,60-0",
            expected: nil
        ),
        Case(
            testDescription: "alibaba v2",
            vendor: { try alibaba() },
            body: #"{"code":"success","data":{"cip":"203.0.113.9","answers":"#
                + #"[{"dn":"www.example.com","v4":{"ips":["192.0.2.1"]}}]}}"#
        ),
        Case(
            testDescription: "alibaba v2, not an address",
            vendor: { try alibaba() },
            body: #"{"code":"success","data":{"cip":"unknown","answers":"#
                + #"[{"dn":"www.example.com","v4":{"ips":["192.0.2.1"]}}]}}"#,
            expected: nil
        ),
        Case(
            testDescription: "alibaba v1",
            vendor: { try alibaba(api: .v1) },
            body: #"{"host":"www.example.com","ips":["192.0.2.1"],"client_ip":"203.0.113.9"}"#
        ),
        Case(
            testDescription: "baidu",
            vendor: { try Baidu(account: "107080", secret: Secret("1234567890")) },
            body: #"{"msg":"ok","clientip":"203.0.113.9","#
                + #""data":{"www.example.com":{"ipv4":{"ip":["192.0.2.1"]}}}}"#
        ),
        Case(
            testDescription: "volcengine",
            vendor: { try Volcengine(account: "1023", secret: Secret("QlgAuFMwNUwN")) },
            body: #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":60,"cip":"203.0.113.9"}"#
        ),
    ]

    @Test("the daemon finds the client address in the replies of all vendors", arguments: cases)
    func parsed(_ each: Case) throws {
        let answers = try each.vendor().answers(to: lookup("www.example.com"), in: ok(each.body))
        #expect(answers.map { $0.client.map { "\($0)" } } == [each.expected])
        let text = try #require(answers.first).description
        #expect(text.contains("for client") == (each.expected != nil))
    }

    @Test("the daemon finds the client address in the last line of Tencent's reply to a batch")
    func batch() throws {
        let answers = try plainTencent().answers(
            to: lookup("a.example.com", "b.example.com", families: .v4),
            in: ok("a.example.com.:192.0.2.1,60\nb.example.com.:192.0.2.2,60|203.0.113.9")
        )
        #expect(answers.map { $0.client.map { "\($0)" } } == ["203.0.113.9", "203.0.113.9"])
    }

    @ServiceLoop
    private func script(_ number: Int) {
        world.script = { request in
            let sent = request.url.split(separator: "&").first { $0.hasPrefix("ip=") }?.dropFirst(3)
            let client = sent.map(String.init) ?? "203.0.113.\(number)"
            return .reply(ok("\(namesAsked(request)[0]).:192.0.2.10,60-0|\(client)"))
        }
    }

    @Test("the latest client address is stored until the network changes")
    @ServiceLoop
    func latest() async throws {
        let client = try world.client()
        #expect(client.statistics.clientAddress == nil)
        for number in [1, 2] {
            script(number)
            _ = try await world.lookUp(client)
            #expect(try client.statistics.clientAddress == address("203.0.113.\(number)"))
        }
        let other = try world.client { $0.timeout = .seconds(1) }
        other.takeOver(from: client, hasSameAccount: true)
        #expect(try other.statistics.clientAddress == address("203.0.113.2"))
        other.networkChanged()
        #expect(other.statistics.clientAddress == nil)
        let moved = try world.client { $0.clientSubnet = try? address("198.51.100.1") }
        moved.takeOver(from: client, hasSameAccount: true)
        #expect(moved.statistics.clientAddress == nil)
    }

    @Test("the address in a route's `client-subnet` is not stored as the client address")
    @ServiceLoop
    func ofRoute() async throws {
        script(1)
        let client = try world.client()
        let name = try Name("www.example.com")
        let parameters = RouteParameters(clientSubnet: try address("198.51.100.1"))
        let deadline = world.now + .seconds(3)
        let operation: Begun = world.begin {
            await withCheckedContinuation { continuation in
                client.lookUp(
                    name,
                    .both,
                    route: "",
                    parameters: parameters,
                    deadline: deadline,
                    Completion { continuation.resume(returning: $0) }
                )
            }
        }
        let reply = try await world.value(of: operation).get()
        #expect(try reply.answer.client == address("198.51.100.1"))
        #expect(client.statistics.clientAddress == nil)
    }
}
