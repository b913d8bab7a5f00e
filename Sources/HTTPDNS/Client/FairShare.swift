// SPDX-License-Identifier: Apache-2.0

/// Limit of a client's share of a resource: a dynamic threshold (Choudhury and Hahne, 1998).
///
/// A client gets a first unit if any unit is free. It gets further units while its use is below a
/// multiple of the units that would then be free.
struct FairShare {
    private let multiple: Int

    /// Half of the units that other clients do not use.
    static let half = FairShare(multiple: 1)

    /// Three quarters of the units that other clients do not use.
    static let threeQuarters = FairShare(multiple: 3)

    func admits(used: Int, free: Int) -> Bool {
        used == 0 ? free > 0 : used / multiple < free - 1
    }
}
