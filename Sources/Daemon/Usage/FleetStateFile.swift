// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Fleet
internal import Net

/// File `fleet.state`: identifier of this machine, and its claims (parts of shared budgets).
///
/// The text has a header, a line with the identifier, and a line for each vendor: `DAY MONTH
/// MEMBERS`, then `LIMIT CLAIM SUM-OF-CLAIMS` for each of three limits, then `NAME`. An unset limit
/// is `- - -`. An invalid line is ignored.
@ServiceLoop
final class FleetStateFile {
    private let file: SharedFile
    private nonisolated static let header = "httpdnsd fleet 1"

    nonisolated init(directory: String) {
        let new = Self.octets([:], identifier: Self.newIdentifier())
        file = SharedFile(directory + "/fleet.state", initial: new)
    }

    /// Returns the stored identifier, or a new identifier, which is stored if possible.
    func identifier() -> [UInt8] {
        let new = Self.newIdentifier()
        let stored = try? file.change { octets in
            if let known = Self.identifier(octets) { return (nil, known) }
            return (Self.octets(Self.claims(octets), identifier: new), new)
        }
        return stored ?? new
    }

    nonisolated static func newIdentifier() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<identifierOctets).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    private nonisolated static let identifierOctets = 16

    func claims() -> [String: BudgetClaim] { (try? file.change { (nil, Self.claims($0)) }) ?? [:] }

    /// Stores a claim; ``UsageFile`` reports a failure.
    func store(_ vendor: String, _ claim: BudgetClaim) {
        try? file.change { octets in
            var claims = Self.claims(octets)
            claims[vendor] = claim
            let identifier = Self.identifier(octets) ?? Self.newIdentifier()
            return (Self.octets(claims, identifier: identifier), ())
        }
    }
}

// MARK: - Text

extension FleetStateFile {
    nonisolated static func octets(
        _ claims: [String: BudgetClaim],
        identifier: [UInt8]
    ) -> [UInt8] {
        var text = header + "\nidentifier \(identifier.hexadecimal)\n"
        for (vendor, claim) in claims.sorted(by: { $0.key < $1.key }) {
            text += "\(claim.day) \(claim.month) \(claim.members)"
            for limit in claim.limits {
                text += limit.map { " \($0.most) \($0.claimed) \($0.total)" } ?? " - - -"
            }
            text += " \(vendor)\n"
        }
        return Array(text.utf8)
    }

    nonisolated static func identifier(_ octets: some Collection<UInt8>) -> [UInt8]? {
        let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
        guard lines.first == header[...], lines.count > 1 else { return nil }
        let words = lines[1].split(separator: " ")
        guard words.count == 2, words[0] == "identifier",
            words[1].utf8.count == 2 * identifierOctets
        else { return nil }
        let digits = words[1].compactMap(\.hexDigitValue)
        guard digits.count == 2 * identifierOctets else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { index in
            UInt8(digits[index] << 4 | digits[index + 1])
        }
    }

    nonisolated static func claims(_ octets: some Collection<UInt8>) -> [String: BudgetClaim] {
        let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
        guard lines.first == header[...] else { return [:] }
        var claims: [String: BudgetClaim] = [:]
        for line in lines.dropFirst() {
            let fields = line.split(separator: " ", maxSplits: 12)
            guard fields.count == 13, let day = Int64(fields[0]), let month = Int64(fields[1]),
                let members = Int(fields[2]), (1...FleetLimits.mostMembers).contains(members)
            else { continue }
            let numbers = fields[3..<12].map { UInt64($0) }
            let most = stride(from: 0, to: 9, by: 3).map { numbers[$0] }
            var claim = BudgetClaim(most, day: day, month: month, members: members)
            claim.restore(
                stride(from: 0, to: 9, by: 3).map { index in
                    numbers[index + 1].map { ($0, numbers[index + 2] ?? $0) }
                }
            )
            claims[String(fields[12])] = claim
        }
        return claims
    }
}
