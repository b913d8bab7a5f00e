// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Fuzzing
@testable import HTTPDNS

@Suite("Broken invariants are detected")
struct OracleTests {
    private struct Liar: Vendor {
        var facts = VendorFacts(
            kind: "liar",
            maximumNames: 1,
            pairsFamilies: true,
            isBillable: false,
            defaultPort: 80
        )
        let answer: @Sendable (VendorQuery) -> [VendorAnswer]

        func request(
            for lookup: VendorQuery,
            at server: SocketAddress,
            now wallSeconds: Int64,
            entropy: Entropy
        ) throws(VendorError) -> HTTPRequest { throw .unusableName }

        func answers(
            to lookup: VendorQuery,
            in reply: HTTPReply
        ) throws(VendorError) -> [VendorAnswer] {
            guard reply.status == 200 else { throw .serverStatus(reply.status) }
            return answer(lookup)
        }
    }

    private static func answer(_ lookup: VendorQuery, v4: [String], ttl: UInt32 = 1)
        -> [VendorAnswer]
    {
        let set = AddressSet(addresses: v4.compactMap { IPAddress($0) }, ttl: ttl)
        return [VendorAnswer(name: lookup.names[0], v4: lookup.families.includesV4 ? set : nil)]
    }

    private static let lies: [(String, @Sendable (VendorQuery) -> [VendorAnswer])] = [
        ("no answer", { _ in [] }),
        ("another name", { _ in [VendorAnswer(name: .root, v4: AddressSet.none)] }),
        (
            "an unrequested family",
            { [VendorAnswer(name: $0.names[0], v4: AddressSet.none, v6: AddressSet.none)] }
        ),
        ("this machine", { answer($0, v4: ["127.0.0.1"]) }),
        ("another family", { answer($0, v4: ["2001:db8::1"]) }),
        ("too many", { answer($0, v4: [String](repeating: "192.0.2.1", count: 257)) }),
        ("too long", { answer($0, v4: ["192.0.2.1"], ttl: .max) }),
        ("a name that the reply does not have", { answer($0, v4: ["192.0.2.1"]) }),
    ]

    @Test("the check of a fuzz target detects an answer that breaks an invariant", arguments: lies)
    func vendor(_ label: String, _ lie: @escaping @Sendable (VendorQuery) -> [VendorAnswer]) {
        let oracle = VendorOracle(vendor: Liar(answer: lie), namesItsAnswers: true)
        #expect(throws: Finding.self) { try oracle.judge([UInt8]("{}".utf8)) }
    }

    @Test("a valid answer is accepted")
    func honest() {
        let liar = Liar { Self.answer($0, v4: ["192.0.2.1"]) }
        let oracle = VendorOracle(vendor: liar, namesItsAnswers: true)
        #expect(throws: Never.self) { try oracle.judge([UInt8]("www.example.com".utf8)) }
    }
}
