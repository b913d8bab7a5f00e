// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Tencent {
    struct Question: Sendable {
        /// One to eight names, in lower case without a final dot.
        var keys: [String]
        var type: RecordType
        var saysTTL: Bool
        var saysClient: Bool
        var saysName: Bool
        /// Client address: the parameter `ip`, or else the source address of the request.
        var client: String
    }

    enum RecordType: Sendable {
        case a, aaaa, both

        var families: [Family] {
            switch self {
            case .a: [.v4]
            case .aaaa: [.v6]
            case .both: [.v4, .v6]
            }
        }
    }

    /// Maximum number of names in a batch (Tencent Cloud document 379/54976).
    static let batchNames = 8

    func question(
        _ parameters: Parameters,
        _ channel: Channel,
        _ peer: String,
        at time: Date
    ) throws(Refusal) -> Question {
        if let timeout = parameters["timeout"] {
            guard let milliseconds = Int(timeout), (1000...5000).contains(milliseconds) else {
                throw .unintelligible
            }
        }
        let type: RecordType
        switch parameters["type"] {
        case nil: type = .a
        case "aaaa", "AAAA": type = .aaaa
        case "addrs", "ADDRS": type = .both
        default: throw .unintelligible
        }
        return Question(
            keys: try names(parameters["dn"] ?? "", channel, at: time),
            type: type,
            saysTTL: try flag(parameters["ttl"]),
            saysClient: try flag(parameters["clientip"]),
            saysName: try flag(parameters["query"]),
            client: try client(parameters["ip"] ?? "", channel) ?? peer
        )
    }

    private func names(
        _ dn: String,
        _ channel: Channel,
        at time: Date
    ) throws(Refusal) -> [String] {
        var text = try decrypted(dn, channel)
        if let semicolon = text.lastIndex(of: ";") {
            guard !manner.refusesExpiry else { throw .account }
            let digits = text[text.index(after: semicolon)...]
            guard digits.allSatisfy({ ("0"..."9").contains($0) }), let expiry = Int(digits) else {
                throw .unintelligible
            }
            guard TimeInterval(expiry) > time.timeIntervalSince1970 else { throw .account }
            text = String(text[..<semicolon])
        } else if manner.requiresExpiry {
            throw .account
        }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { name in
            let lower = name.lowercased()
            return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
        }
        guard names.count <= Self.batchNames, names.allSatisfy({ $0.isHostName }) else {
            throw .unintelligible
        }
        return names
    }

    /// Returns the client address; nil if `ip` is empty, as in calls of the Android SDK.
    private func client(_ ip: String, _ channel: Channel) throws(Refusal) -> String? {
        if ip.isEmpty { return nil }
        if Address(ip) != nil { return ip }
        let text = try decrypted(ip, channel)
        guard Address(text) != nil else { throw .unintelligible }
        return text
    }

    private func decrypted(_ text: String, _ channel: Channel) throws(Refusal) -> String {
        guard let (cipher, key) = key(channel) else { return text }
        do {
            guard let message = Hex.decode(text),
                let plain = String(validating: try cipher.open(message, key: key), as: UTF8.self)
            else { throw Refusal.unintelligible }
            return plain
        } catch {
            throw .unintelligible
        }
    }

    private func flag(_ value: String?) throws(Refusal) -> Bool {
        switch value {
        case nil, "0": return false
        case "1": return true
        default: throw .unintelligible
        }
    }
}
