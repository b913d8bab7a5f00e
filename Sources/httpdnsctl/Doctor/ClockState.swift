// SPDX-License-Identifier: Apache-2.0
import CLinux

/// Whether something keeps the machine's clock right.
enum ClockState {
    /// What the kernel says; nil if it says nothing, as in some containers.
    static var isSynchronised: Bool? {
        switch linux_clock_is_synchronised() {
        case 1: true
        case 0: false
        default: nil
        }
    }
}
