// SPDX-License-Identifier: Apache-2.0
private import Glibc
private import Locks

/// Table of the interface names in link-local addresses such as `fe80::1%eth0`.
///
/// An interface gets another index when it is created again. Therefore ``SocketAddress/scope`` of
/// such an address contains the number of the name in this table. Only the `sockaddr` for the
/// kernel contains the present index.
enum InterfaceNames {
    /// Lowest number of a name; the indexes of the kernel are smaller.
    static let first: UInt32 = 1 << 31

    /// Index that no interface has: bind(2) fails with ENODEV, and connect(2) with ENETUNREACH.
    static let absentIndex = UInt32(Int32.max)

    /// Without this limit, users of `httpdnsctl check` could fill the memory: the daemon never
    /// removes a name.
    static let capacity = 1024

    private static let names = Lock<[String]>([])

    /// Returns nil if no interface can have the name, or if the table is full.
    static func number(of name: String) -> UInt32? {
        guard isValid(name) else { return nil }
        return names.withLock { names in
            if let known = names.firstIndex(of: name) { return first + UInt32(known) }
            guard names.count < capacity else { return nil }
            names.append(name)
            return first + UInt32(names.count - 1)
        }
    }

    static func name(of number: UInt32) -> String? {
        guard number >= first else { return nil }
        return names.withLock { names in
            let place = Int(number - first)
            return names.indices.contains(place) ? names[place] : nil
        }
    }

    static func index(of name: String) -> UInt32 {
        // if_nametoindex(3) needs a descriptor, and returns 0 on an error.
        let index = SpareDescriptors.open {
            // SAFETY: the name ends with NUL and lives during the call.
            let index = unsafe if_nametoindex(name)
            return index == 0 ? -1 : Int32(clamping: index)
        }
        return index > 0 ? UInt32(index) : absentIndex
    }

    private static func isValid(_ name: String) -> Bool {
        (1..<Int(IF_NAMESIZE)).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"/:%]".utf8.contains($0) }
    }
}
