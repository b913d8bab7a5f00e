// SPDX-License-Identifier: Apache-2.0

/// Reader of `/etc/group`; does not use NSS, which may send queries to this daemon.
package enum GroupFile {
    static let maximumOctets = 1 << 20

    /// Returns the group ID; a number that is not the name of a group is itself the group ID.
    package static func number(of name: String, path: String = "/etc/group") -> UInt32? {
        let octets = (try? RegularFile(path).read(atMost: maximumOctets)) ?? []
        return number(of: name, in: String(decoding: octets, as: UTF8.self))
            ?? (name.allSatisfy(\.isNumber) ? UInt32(name) : nil)
    }

    /// Returns nil if `/etc/passwd` has no such user.
    package static func user(
        _ name: String,
        passwords: String = "/etc/passwd",
        groups: String = "/etc/group"
    ) -> ServiceUser? {
        func lines(_ path: String) -> [[Substring]] {
            let octets = (try? RegularFile(path).read(atMost: maximumOctets)) ?? []
            return String(decoding: octets, as: UTF8.self).split(whereSeparator: \.isNewline)
                .map { $0.split(separator: ":", omittingEmptySubsequences: false) }
        }
        guard let user = lines(passwords).first(where: { $0.count == 7 && $0[0] == name }),
            let own = UInt32(user[2]), let primary = UInt32(user[3])
        else { return nil }
        let others = lines(groups).filter { line in
            line.count == 4 && line[3].split(separator: ",").contains { $0 == name }
        }
        return ServiceUser(user: own, groups: Set([primary] + others.compactMap { UInt32($0[2]) }))
    }

    static func number(of name: String, in text: String) -> UInt32? {
        // Splits octets, because a split of characters would delay the start of the daemon.
        for line in text.utf8.split(separator: UInt8(ascii: "\n"))
        where line.starts(with: name.utf8) {
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard fields.count == 4, fields[0].elementsEqual(name.utf8) else { continue }
            return UInt32(Substring(fields[2]))
        }
        return nil
    }
}
