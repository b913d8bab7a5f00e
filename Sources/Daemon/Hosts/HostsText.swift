// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Resolver

/// Lines with errors in a hosts file; line numbers begin with 1.
struct HostsFaults {
    private(set) var first: (line: Int, reason: String)?
    private(set) var count = 0

    mutating func note(_ reason: String, line: Int) {
        if first == nil { first = (line, reason) }
        count += 1
    }
}

extension HostsTable {
    mutating func add(hostsFile octets: [UInt8]) -> HostsFaults {
        var faults = HostsFaults()
        var number = 0
        // Some editors write a byte order mark.
        var rest = octets.starts(with: [0xEF, 0xBB, 0xBF]) ? octets.dropFirst(3) : octets[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest.dropFirst(line.count + 1)
            number += 1
            let content = line.prefix { $0 != UInt8(ascii: "#") }
            let fields = content.split { [0x20, 0x09, 0x0B, 0x0C, 0x0D].contains($0) }
            guard let first = fields.first else { continue }
            guard let address = IPAddress(String(decoding: first, as: UTF8.self)) else {
                faults.note("the line does not start with an IP address", line: number)
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
                faults.note("the line contains an invalid host name", line: number)
            } else if names.isEmpty {
                faults.note("the line contains no host name", line: number)
            }
            add(address, names: names)
        }
        return faults
    }
}
