// SPDX-License-Identifier: Apache-2.0

// MARK: - Conformances

extension ServiceKey: CustomStringConvertible {
    package var description: String {
        switch self {
        case .mandatory: "mandatory"
        case .alpn: "alpn"
        case .noDefaultALPN: "no-default-alpn"
        case .port: "port"
        case .ipv4Hint: "ipv4hint"
        case .ech: "ech"
        case .ipv6Hint: "ipv6hint"
        case .dohPath: "dohpath"
        default: generic
        }
    }

    fileprivate var generic: String { "key\(rawValue)" }
}

extension ServiceBinding.Parameter: CustomStringConvertible {
    /// Text as in zone files (RFC 9460 §2.1); a malformed value has the generic form.
    package var description: String {
        guard let text = knownText else {
            guard !value.isEmpty else { return key.generic }
            return "\(key.generic)=\(RecordData.quoted(value))"
        }
        return text.isEmpty ? key.description : "\(key)=\(text)"
    }

    private var knownText: String? {
        switch key {
        case .mandatory:
            guard !value.isEmpty, value.count.isMultiple(of: 2) else { return nil }
            let keys = stride(from: 0, to: value.count, by: 2).map {
                ServiceKey(rawValue: UInt16(value[$0]) << 8 | UInt16(value[$0 + 1]))
            }
            return keys.map(\.description).joined(separator: ",")
        case .alpn: return protocols.map(RecordData.quoted)
        case .noDefaultALPN: return value.isEmpty ? "" : nil
        case .port:
            guard value.count == 2 else { return nil }
            return String(UInt16(value[0]) << 8 | UInt16(value[1]))
        case .ipv4Hint, .ipv6Hint:
            return value.isEmpty ? nil : addresses?.map(\.description).joined(separator: ",")
        case .ech: return value.isEmpty ? nil : "\"\(value.base64)\""
        case .dohPath: return value.isEmpty ? nil : RecordData.quoted(value)
        default: return nil
        }
    }

    var addresses: [IPAddress]? {
        let size = key == .ipv4Hint ? 4 : 16
        guard value.count.isMultiple(of: size) else { return nil }
        return stride(from: 0, to: value.count, by: size).compactMap {
            IPAddress(octets: Array(value[$0..<$0 + size]))
        }
    }

    /// Protocol names of `alpn` with commas escaped (RFC 9460 §A.1).
    private var protocols: [UInt8]? {
        var list: [UInt8] = []
        var position = 0
        while position < value.count {
            let count = Int(value[position])
            let start = position + 1
            position = start + count
            guard count > 0, position <= value.count else { return nil }
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            for octet in value[start..<position] {
                if octet == UInt8(ascii: ",") || octet == UInt8(ascii: "\\") {
                    list.append(UInt8(ascii: "\\"))
                }
                list.append(octet)
            }
        }
        return list.isEmpty ? nil : list
    }
}

extension ServiceBinding: CustomStringConvertible {
    package var description: String {
        (["\(priority) \(target)"] + parameters.map(\.description)).joined(separator: " ")
    }
}
