// SPDX-License-Identifier: Apache-2.0
import CLinux

enum ClockState {
    /// True if the kernel reports a synchronised clock; nil if unknown, as in some containers.
    static var isSynchronised: Bool? {
        switch linux_clock_is_synchronised() {
        case 1: true
        case 0: false
        default: nil
        }
    }
}
