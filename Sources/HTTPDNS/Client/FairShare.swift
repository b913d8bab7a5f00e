// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of a client's share of a resource: a dynamic threshold (Choudhury and Hahne, 1998).
///
/// A client without units gets one if a unit is free. Any other client gets a unit only if the
/// number of its units is less than `multiple` × (number of free units − 1).
struct FairShare {
    private let multiple: Int

    /// Half of the units that other clients leave free.
    static let half = FairShare(multiple: 1)

    /// Three quarters of the units that other clients leave free.
    static let threeQuarters = FairShare(multiple: 3)

    /// Returns true if a client gets a unit.
    ///
    /// Proven clients have a reserve of `reserve` units, and other clients have a second reserve
    /// of the same size.
    ///
    /// - A client that is not proven cannot use the reserve of proven clients.
    /// - A proven client can use the reserves if it uses at most an eighth of the free units.
    /// - Any other proven client must leave 2 × `reserve` − `unproven` units free. `unproven` is
    ///   the number of units that unproven clients use. Exception: if `unproven` is at least
    ///   `reserve`, the proven client can use both reserves.
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

    private static let smallPart = 8

    func admits(used: Int, free: Int) -> Bool {
        used == 0 ? free > 0 : used / multiple < free - 1
    }
}
