// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Damaged replies of Tencent")
struct ReplyFuzzTests {
    private static let seeds: [[UInt8]] =
        (TencentReplies.documented + TencentReplies.fromTheKits + TencentReplies.lenient)
        .map { [UInt8]($0.body.utf8) } + TencentVectors.replies.map { [UInt8]($0.plain.utf8) }

    private static let alphabet = [UInt8]("0123456789abcf.:;,-|\n\r %\u{0}".utf8) + [0x80, 0xFF]

    private func mutate(_ text: inout [UInt8], _ random: inout SeededGenerator) {
        let at = text.isEmpty ? 0 : Int.random(in: 0..<text.count, using: &random)
        switch UInt8.random(in: 0..<6, using: &random) {
        case 0 where !text.isEmpty: text[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where !text.isEmpty: text.remove(at: at)
        case 2 where !text.isEmpty: text.removeSubrange(at...)
        case 3: text.append(contentsOf: text)
        case 4: text.insert(contentsOf: Self.seeds.randomElement(using: &random) ?? [], at: at)
        default: text.insert(Self.alphabet.randomElement(using: &random) ?? 0, at: at)
        }
    }

    private func check(_ answers: [VendorAnswer], to lookup: VendorQuery) {
        #expect(answers.map(\.name) == lookup.names)
        for answer in answers {
            #expect(lookup.families.includesV4 || answer.v4 == nil)
            #expect(lookup.families.includesV6 || answer.v6 == nil)
            for (set, octets) in [(answer.v4, 4), (answer.v6, 16)] {
                guard let set else { continue }
                #expect(set.addresses.count <= VendorLimits.maximumAddresses)
                #expect(set.ttl <= VendorLimits.maximumTTL)
                #expect(set.dropped >= 0)
                #expect(set.addresses.allSatisfy { $0.octets.count == octets && $0.reach != .none })
            }
        }
    }

    @Test(
        "damaged text is either rejected or parsed within the limits",
        arguments: [Families.v4, .v6, .both]
    )
    func plain(families: Families) throws {
        let vendor = try plainTencent()
        let lookups = [
            try lookup("cloud.tencent.com", families: families),
            try lookup("cloud.tencent.com", "www.qq.com", families: families),
        ]
        var random = SeededGenerator(state: 1)
        for _ in 0..<4000 {
            var text = Self.seeds.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &random) { mutate(&text, &random) }
            let reply = HTTPReply(status: 200, body: text)
            for lookup in lookups {
                do throws(VendorError) {
                    check(try vendor.answers(to: lookup, in: reply), to: lookup)
                } catch {
                    #expect(error.kind == .unreadable || error.kind == .wrongName)
                }
            }
        }
    }

    @Test(
        "damaged encrypted text is either rejected or parsed within the limits",
        arguments: [Tencent.Channel.aes, .des]
    )
    func sealed(channel: Tencent.Channel) throws {
        let vendor = try sealedTencent(channel)
        let lookup = try lookup("cloud.tencent.com")
        var random = SeededGenerator(state: 2)
        for _ in 0..<2000 {
            let seed = try #require(TencentVectors.replies.randomElement(using: &random))
            var body = [UInt8]((channel == .aes ? seed.aes : seed.des).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&body, &random) }
            let reply = HTTPReply(status: 200, body: body)
            do throws(VendorError) {
                check(try vendor.answers(to: lookup, in: reply), to: lookup)
            } catch {
                let kinds: [VendorError.Kind] = [.unreadable, .undecryptable, .wrongName]
                #expect(kinds.contains(error.kind))
            }
        }
    }
}
