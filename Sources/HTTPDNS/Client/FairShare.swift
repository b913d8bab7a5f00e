// SPDX-License-Identifier: Apache-2.0

/// Rule by which clients share a limited resource: a dynamic threshold (Choudhury and Hahne, 1998).
///
/// A client gets its first unit if any unit is free. It gets a further unit only if it holds fewer
/// units than a multiple of the units that would then be free. Each client can thus hold the same
/// fraction of the units that others do not hold.
struct FairShare {
    /// Largest ratio of a client's units to the free units.
    private let multiple: Int

    /// Half of the units that other clients do not hold.
    static let half = FairShare(multiple: 1)

    /// Three quarters of the units that other clients do not hold.
    static let threeQuarters = FairShare(multiple: 3)

    /// Returns true if a client that holds `used` units may take one of `free` units.
    func admits(used: Int, free: Int) -> Bool {
        used == 0 ? free > 0 : used / multiple < free - 1
    }
}
