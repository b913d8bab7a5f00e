// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc
private import Locks
private import Synchronization

/// Reserve of descriptors for sockets that the daemon opens, for example for upstream queries.
///
/// The reserve is used when clients and files occupy all other descriptors.
package enum SpareDescriptors {
    package static let count = 16

    private struct Stock {
        var wanted = 0
        var kept: [Int32] = []
    }

    private static let stock = Lock(Stock())

    private static let isShort = Atomic(false)

    package static func keep() {
        stock.withLock { $0.wanted = count }
        isShort.store(true, ordering: .relaxed)
        refill()
    }

    /// Opens a descriptor by `call`; on EMFILE, releases a spare descriptor and repeats `call`.
    static func open(_ call: () -> Int32) -> Int32 {
        let first = call()
        return first < 0 && errno == EMFILE && giveUp() ? call() : first
    }

    private static func giveUp() -> Bool {
        stock.withLock { stock in
            guard let last = stock.kept.popLast() else { return false }
            isShort.store(true, ordering: .relaxed)
            close(last)
            return true
        }
    }

    static func refill() {
        guard isShort.load(ordering: .relaxed) else { return }
        stock.withLock { stock in
            while stock.kept.count < stock.wanted {
                let descriptor = linux_eventfd()
                guard descriptor >= 0 else { return }
                stock.kept.append(descriptor)
            }
            isShort.store(false, ordering: .relaxed)
        }
    }
}
