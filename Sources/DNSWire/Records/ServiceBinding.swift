// SPDX-License-Identifier: Apache-2.0

/// Data of an SVCB or HTTPS record (RFC 9460 §2.2).
package struct ServiceBinding: Hashable, Sendable {
    /// 0 for alias mode; otherwise lower values are preferred.
    package var priority: UInt16

    /// The root means the owner name, or in alias mode "service not available".
    package var target: Name

    /// Unique keys in ascending order.
    package private(set) var parameters: [Parameter]

    package struct Parameter: Hashable, Sendable {
        package let key: ServiceKey

        package let value: [UInt8]

        package init(key: ServiceKey, value: [UInt8]) {
            precondition(value.count <= Int(UInt16.max), "a service parameter has a 16-bit length")
            self.key = key
            self.value = value
        }
    }

    package init(priority: UInt16, target: Name, parameters: [Parameter] = []) {
        self.priority = priority
        self.target = target
        self.parameters = parameters.sorted { $0.key.rawValue < $1.key.rawValue }
        for (left, right) in zip(self.parameters, self.parameters.dropFirst()) {
            precondition(left.key != right.key, "service parameter keys must be unique")
        }
    }
}

/// SvcParamKey (RFC 9460 §14.3.2).
package struct ServiceKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// RFC 9460 §8.
    package static let mandatory = ServiceKey(rawValue: 0)
    /// RFC 9460 §7.1.
    package static let alpn = ServiceKey(rawValue: 1)
    /// RFC 9460 §7.1.
    package static let noDefaultALPN = ServiceKey(rawValue: 2)
    /// RFC 9460 §7.2.
    package static let port = ServiceKey(rawValue: 3)
    /// RFC 9460 §7.3.
    package static let ipv4Hint = ServiceKey(rawValue: 4)
    /// RFC 9848.
    package static let ech = ServiceKey(rawValue: 5)
    /// RFC 9460 §7.3.
    package static let ipv6Hint = ServiceKey(rawValue: 6)
    /// RFC 9461 §5.
    package static let dohPath = ServiceKey(rawValue: 7)
}

// MARK: - Reading

extension ServiceBinding {
    package var isAlias: Bool { priority == 0 }
    package func value(of key: ServiceKey) -> [UInt8]? { parameters.first { $0.key == key }?.value }

    /// Returns the addresses of a hint; nil if the parameter is missing or malformed.
    package func addresses(of key: ServiceKey) -> [IPAddress]? {
        parameters.first { $0.key == key }?.addresses
    }
}

// MARK: - Changing

extension ServiceBinding {
    /// Sets a hint to the first `most` addresses of its family.
    ///
    /// If `addresses` has none of this family, removes the hint.
    package mutating func setHint(_ key: ServiceKey, _ addresses: [IPAddress], most: Int = .max) {
        let size = key == .ipv4Hint ? 4 : 16
        let octets = addresses.map(\.octets).filter { $0.count == size }
        set(key, Array(octets.prefix(most).joined()))
    }

    /// Removes a parameter, also from the list of mandatory keys (RFC 9460 §8).
    package mutating func remove(_ key: ServiceKey) {
        parameters.removeAll { $0.key == key }
        guard key != .mandatory, let value = value(of: .mandatory) else { return }
        var kept: [UInt8] = []
        for index in stride(from: 0, to: value.count - 1, by: 2) {
            let pair = value[index...index + 1]
            let number = UInt16(value[index]) << 8 | UInt16(value[index + 1])
            if number != key.rawValue { kept.append(contentsOf: pair) }
        }
        set(.mandatory, kept)
    }

    private mutating func set(_ key: ServiceKey, _ value: [UInt8]) {
        guard !value.isEmpty else {
            remove(key)
            return
        }
        let parameter = Parameter(key: key, value: value)
        let place = parameters.firstIndex { $0.key.rawValue >= key.rawValue }
        if let place, parameters[place].key == key {
            parameters[place] = parameter
        } else {
            parameters.insert(parameter, at: place ?? parameters.count)
        }
    }
}

// MARK: - Wire

extension ServiceBinding {
    /// Parses the data; checks the order of keys (RFC 9460 §2.2), but not the values.
    init(parsing reader: inout WireReader) throws(WireError) {
        priority = try reader.uint16()
        target = try reader.uncompressedName()
        parameters = []
        while !reader.isAtEnd {
            let start = reader.offset
            let key = ServiceKey(rawValue: try reader.uint16())
            if let last = parameters.last, last.key.rawValue >= key.rawValue {
                throw .badRDATA(at: start)
            }
            let count = Int(try reader.uint16())
            parameters.append(Parameter(key: key, value: try reader.octets(count)))
        }
    }

    /// Appends the wire form; the target is not compressed (RFC 9460 §2.2).
    func append(to octets: inout [UInt8]) {
        octets.append(bigEndian: priority)
        octets.append(contentsOf: target.octets)
        for parameter in parameters {
            octets.append(bigEndian: parameter.key.rawValue)
            octets.append(bigEndian: UInt16(parameter.value.count))
            octets.append(contentsOf: parameter.value)
        }
    }
}
