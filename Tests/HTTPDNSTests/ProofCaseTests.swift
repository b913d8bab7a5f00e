// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Assumptions about a vendor's replies")
struct ProofCaseTests {
    private func verdict(
        _ expectation: ProofCase.Expectation,
        _ outcome: Result<[VendorAnswer], VendorError>,
        hasReply: Bool
    ) throws -> Bool? {
        let query = VendorQuery(names: [try Name("www.example.com")], families: .v4)
        var proof = ProofCase("label", vendor: try plainTencent(), query: query)
        proof.expectation = expectation
        return proof.isMet(by: ProofResult(reply: hasReply ? ok("") : nil, outcome: outcome))
    }

    @Test(
        "a test call without a reply has no result",
        arguments: [
            .transport(.connect("refused")), .transport(.timedOut(reused: false)),
            .transport(.cutOff(reused: true)), .transport(.exhausted("sockets")),
            .transport(.cancelled),
            .budget, .paused, .outOfTime,
        ] as [VendorError]
    )
    func untested(error: VendorError) throws {
        for expectation in [
            .addresses, .readable, .noAddress, .refusal, .certificateError, .version("2"),
        ] as [ProofCase.Expectation] {
            #expect(try verdict(expectation, .failure(error), hasReply: false) == nil)
        }
    }

    @Test("the test of `client-subnet` has a result only if the reply has a client address")
    func client() throws {
        func answer(_ client: String?) throws -> VendorAnswer {
            VendorAnswer(
                name: try Name("www.example.com"),
                client: client.flatMap { IPAddress($0) }
            )
        }
        let expected = ProofCase.Expectation.client(try #require(IPAddress("203.0.113.1")))
        for (client, verdict) in [
            (nil, nil), ("203.0.113.1", true), ("203.0.113.2", false),
        ] as [(String?, Bool?)] {
            let answers = [try answer(client), try answer(nil)]
            #expect(try self.verdict(expected, .success(answers), hasReply: true) == verdict)
        }
    }

    @Test("an unexpected certificate error, or a reply that is not HTTP, disproves an assumption")
    func transport() throws {
        let (tls, broken) = (
            VendorError.transport(.tls("no match")), VendorError.transport(.broken("no HTTP"))
        )
        #expect(try verdict(.certificateError, .failure(tls), hasReply: false) == true)
        #expect(try verdict(.addresses, .failure(tls), hasReply: false) == false)
        #expect(try verdict(.refusal, .failure(tls), hasReply: false) == false)
        #expect(try verdict(.readable, .failure(broken), hasReply: false) == false)
    }

    @Test("an unexpected refusal, or an answer instead of a refusal, disproves an assumption")
    func refusal() throws {
        let refused = VendorError.serverStatus(403, code: nil)
        #expect(try verdict(.refusal, .failure(refused), hasReply: true) == true)
        #expect(try verdict(.addresses, .failure(refused), hasReply: true) == false)
        #expect(try verdict(.refusal, .success([]), hasReply: true) == false)
        #expect(try verdict(.certificateError, .success([]), hasReply: true) == false)
    }
}
