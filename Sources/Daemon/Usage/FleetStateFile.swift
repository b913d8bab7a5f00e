// SPDX-License-Identifier: Apache-2.0
internal import Fleet
internal import Net

/// File `fleet.state`: claims of this machine to shared budgets of the fleet.
///
/// The text has a header and a line for each vendor. A line has `DAY MONTH MEMBERS`, then limit,
/// claim and sum of claims for each limit (`- - -` without the limit), then the name. An invalid
/// line is ignored: the machine then starts without a claim.
@ServiceLoop
final class FleetStateFile {
    private let file: SharedFile

    private nonisolated static let header = "httpdnsd fleet 1"

    nonisolated init(directory: String) {
        file = SharedFile(directory + "/fleet.state", initial: Self.octets([:]))
    }

    /// Returns the stored claims by vendor name; empty if there are none.
    func claims() -> [String: BudgetClaim] {
        (try? file.change { (nil, Self.claims($0)) }) ?? [:]
    }

    /// Stores a claim; ignores a failure.
    ///
    /// Without the file and Redis, a machine starts with a larger share. The usage file of the same
    /// directory reports the fault.
    func store(_ vendor: String, _ claim: BudgetClaim) {
        try? file.change { octets in
            var claims = Self.claims(octets)
            claims[vendor] = claim
            return (Self.octets(claims), ())
        }
    }
}

// MARK: - Text

extension FleetStateFile {
    nonisolated static func octets(_ claims: [String: BudgetClaim]) -> [UInt8] {
        var text = header + "\n"
        for (vendor, claim) in claims.sorted(by: { $0.key < $1.key }) {
            text += "\(claim.day) \(claim.month) \(claim.members)"
            for limit in claim.limits {
                text += limit.map { " \($0.most) \($0.claimed) \($0.total)" } ?? " - - -"
            }
            text += " \(vendor)\n"
        }
        return Array(text.utf8)
    }

    nonisolated static func claims(_ octets: some Collection<UInt8>) -> [String: BudgetClaim] {
        let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
        guard lines.first == header[...] else { return [:] }
        var claims: [String: BudgetClaim] = [:]
        for line in lines.dropFirst() {
            let fields = line.split(separator: " ", maxSplits: 12)
            guard fields.count == 13, let day = Int64(fields[0]), let month = Int64(fields[1]),
                let members = Int(fields[2]), (1...1_000_000).contains(members)
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
