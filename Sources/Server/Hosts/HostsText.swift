// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Resolver

/// What could not be read of a hosts file: the file is used all the same.
struct HostsFaults: Equatable {
    /// The first line with a fault, counted from 1, and what is wrong with it.
    private(set) var first: (line: Int, reason: String)?

    /// Lines with a fault.
    private(set) var count = 0

    mutating func note(_ reason: String, line: Int) {
        if first == nil { first = (line, reason) }
        count += 1
    }

    static func == (left: HostsFaults, right: HostsFaults) -> Bool {
        left.count == right.count && left.first?.line == right.first?.line
            && left.first?.reason == right.first?.reason
    }
}

extension HostsTable {
    /// Adds what a file in the form of hosts(5) says, and tells what it does not say clearly.
    ///
    /// A line is an address and names, with blanks between them and a comment from `#` on.  Whatever
    /// else a line is counts as a fault and is passed over, good names beside bad ones are taken.
    mutating func add(hostsFile octets: [UInt8]) -> HostsFaults {
        var faults = HostsFaults()
        var number = 0
        for line in octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let content = line.prefix { $0 != UInt8(ascii: "#") }
            let fields = content.split { [0x20, 0x09, 0x0B, 0x0C, 0x0D].contains($0) }
            guard let first = fields.first else { continue }
            guard let address = IPAddress(String(decoding: first, as: UTF8.self)) else {
                faults.note("it does not begin with an IP address", line: number)
                continue
            }
            var names: [Name] = []
            var hasBadName = false
            for field in fields.dropFirst() {
                let name = try? Name(String(decoding: field, as: UTF8.self))
                if let name, name.isHostname {
                    names.append(name)
                } else {
                    hasBadName = true
                }
            }
            if hasBadName {
                faults.note("a name on it is none", line: number)
            } else if names.isEmpty {
                faults.note("there is no name behind its address", line: number)
            }
            add(address, names: names)
        }
        return faults
    }
}
