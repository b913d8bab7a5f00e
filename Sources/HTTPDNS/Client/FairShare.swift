// SPDX-License-Identifier: Apache-2.0

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

    func admits(used: Int, free: Int) -> Bool {
        used == 0 ? free > 0 : used / multiple < free - 1
    }
}
