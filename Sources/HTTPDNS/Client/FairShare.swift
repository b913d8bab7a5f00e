// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of a client's share of a resource: a dynamic threshold (Choudhury and Hahne, 1998).
///
/// A client that uses no unit of the resource gets a unit if one is free. A client that already
/// uses units gets another unit only if it uses less than `multiple` times the number of units that
/// are then still free.
struct FairShare {
    private let multiple: Int

    /// Limit of a client: half of the units that other clients leave free.
    static let half = FairShare(multiple: 1)

    /// Limit of a client: three quarters of the units that other clients leave free.
    static let threeQuarters = FairShare(multiple: 3)

    /// Returns true if a client gets a unit, with a reserve for proven and for unproven clients.
    ///
    /// - A client that is not proven cannot use the reserve of proven clients.
    /// - Until unproven clients have used their reserve, a proven client cannot use either of the
    ///   two reserves. Exception: a proven client that uses at most an eighth of the free units
    ///   (`smallPart`).
    ///
    /// - Parameters:
    ///   - reserve: units that each kind of clients has as a reserve.
    ///   - unproven: units that all clients that are not proven use.
    func admits(
        _ client: ClientNetwork,
        used: Int,
        free: Int,
        reserve: Int,
        unproven: Int
    ) -> Bool {
        guard client.isProven else { return admits(used: used, free: max(0, free - reserve)) }
        if free > 0, used <= free / Self.smallPart { return true }
        let reserved = unproven < reserve ? 2 * reserve - unproven : 0
        return admits(used: used, free: max(0, free - reserved))
    }

    /// Divisor: a proven client with at most `free` / `smallPart` used units can use the reserves.
    private static let smallPart = 8

    func admits(used: Int, free: Int) -> Bool {
        used == 0 ? free > 0 : used / multiple < free - 1
    }
}
