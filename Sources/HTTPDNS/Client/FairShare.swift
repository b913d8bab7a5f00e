// SPDX-License-Identifier: Apache-2.0

/// Rule by which clients share a limited resource: a dynamic threshold (Choudhury and Hahne, 1998).
///
/// A client gets its first unit whenever one is free, and more only while it holds fewer than a
/// multiple of the units that would then remain. So each client can hold the same fraction of what
/// the others leave, and a client that holds nothing finds a free unit.
struct FairShare {
    /// Units that a client may hold for each unit that remains.
    private let multiple: Int

    /// Half of what other clients leave.
    static let half = FairShare(multiple: 1)

    /// Three quarters of what other clients leave.
    static let threeQuarters = FairShare(multiple: 3)

    /// Returns true if a client that holds `used` units may take one of `free` units.
    func admits(used: Int, free: Int) -> Bool {
        used == 0 ? free > 0 : used / multiple < free - 1
    }
}
