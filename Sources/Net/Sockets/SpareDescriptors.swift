// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc
private import Locks

/// Reserve of descriptors for queries to upstream servers when clients and files use all others.
///
/// A socket that gets no descriptor takes one from the reserve. The next descriptor that is closed
/// refills the reserve before other code can get it.
package enum SpareDescriptors {
    /// Size of the reserve; many queries can share one socket.
    package static let count = 16

    /// Reserved descriptors and the target size, which is 0 before `keep`.
    private struct Stock {
        var wanted = 0
        var kept: [Int32] = []
    }

    private static let stock = Lock(Stock())

    /// Fills the reserve, for the rest of the process's life.
    package static func keep() {
        stock.withLock { $0.wanted = count }
        refill()
    }

    /// Calls `call`, which opens a descriptor; on EMFILE releases a reserved one and calls it
    /// again.
    ///
    /// - Returns: the result of the last call; `errno` is preserved.
    static func open(_ call: () -> Int32) -> Int32 {
        let first = call()
        return first < 0 && errno == EMFILE && giveUp() ? call() : first
    }

    /// Closes one reserved descriptor for the next `open`; returns false if none is left.
    private static func giveUp() -> Bool {
        stock.withLock { stock in
            guard let last = stock.kept.popLast() else { return false }
            close(last)
            return true
        }
    }

    /// Refills the reserve as far as descriptors are available.
    ///
    /// Called whenever an `OwnedDescriptor` is closed.
    static func refill() {
        stock.withLock { stock in
            while stock.kept.count < stock.wanted {
                let descriptor = linux_eventfd()
                // Descriptors are still exhausted; a later close tries again.
                guard descriptor >= 0 else { return }
                stock.kept.append(descriptor)
            }
        }
    }
}
