// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc
private import Locks

/// Descriptors that are kept back, so that servers can still be asked when clients and files have
/// taken all others.
///
/// A socket that finds no descriptor gets one of these; whichever is closed next takes its place,
/// before anybody else can have it.
package enum SpareDescriptors {
    /// How many are kept back: each may be a socket that many queries share.
    package static let count = 16

    /// Those that are there, and how many there shall be: none before `keep`.
    private struct Stock {
        var wanted = 0
        var kept: [Int32] = []
    }

    private static let stock = Lock(Stock())

    /// Begins to keep some back, for the rest of the process's life.
    package static func keep() {
        stock.withLock { $0.wanted = count }
        refill()
    }

    /// Calls what opens a descriptor, and once more with one of these if there is no other.
    ///
    /// - Returns: what it returned last; `errno` is of that call.
    static func open(_ call: () -> Int32) -> Int32 {
        let first = call()
        return first < 0 && errno == EMFILE && giveUp() ? call() : first
    }

    /// Gives one up, whose number the next call that wants a descriptor gets; false if none is left.
    private static func giveUp() -> Bool {
        stock.withLock { stock in
            guard let last = stock.kept.popLast() else { return false }
            close(last)
            return true
        }
    }

    /// Takes back what was given up, as far as there are descriptors again: called where one of a
    /// server's was closed.
    static func refill() {
        stock.withLock { stock in
            while stock.kept.count < stock.wanted {
                let descriptor = linux_eventfd()
                // Nobody is in need: there will be others.
                guard descriptor >= 0 else { return }
                stock.kept.append(descriptor)
            }
        }
    }
}
