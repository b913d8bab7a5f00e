// SPDX-License-Identifier: Apache-2.0
import Foundation

enum ZoneError: Error, CustomStringConvertible {
    case unreadable(String)
    case line(Int, String)
    case json(String)

    var description: String {
        switch self {
        case .unreadable(let why): why
        case .line(let line, let why): "line \(line): \(why)"
        case .json(let why): why
        }
    }
}

extension Zone {
    /// Parses a zone with one entry per line; `;` starts a comment.
    ///
    /// - `name TTL A|AAAA ADDRESS [subnet=PREFIX/LENGTH]`
    /// - `name TTL CNAME TARGET`
    /// - `name empty`
    init(text: String) throws(ZoneError) {
        self.init()
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let content = line.prefix { $0 != ";" }
            let words = content.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            do throws(Complaint) {
                try register(words)
            } catch {
                throw .line(index + 1, error.text)
            }
        }
    }

    /// Parses `{"NAME": {"A": [...], "AAAA": [...], "CNAME": TARGET, "ttl": SECONDS}}`.
    ///
    /// Only `ttl` is required.
    init(json: Data) throws(ZoneError) {
        self.init()
        let entries: [String: Entry]
        do {
            entries = try JSONDecoder().decode([String: Entry].self, from: json)
        } catch {
            throw .json("not a JSON zone: \(error)")
        }
        for (name, entry) in entries {
            register(name)
            if let target = entry.cname {
                guard (entry.a ?? []).isEmpty, (entry.aaaa ?? []).isEmpty,
                    register(name, aliasOf: target, ttl: entry.ttl)
                else { throw .json("\(name): other records conflict with the CNAME") }
            }
            let families: [(Family, [String])] = [(.v4, entry.a ?? []), (.v6, entry.aaaa ?? [])]
            for (family, texts) in families {
                for text in texts {
                    guard let address = Address(text), address.family == family else {
                        throw .json(
                            "\(name): \(text) is not a valid address for type \(family.rawValue)"
                        )
                    }
                    register(name, Record(address: address, ttl: entry.ttl))
                }
            }
        }
    }

    /// Reads a zone file: JSON if its name ends in `.json`, otherwise lines.
    init(file path: String) throws(ZoneError) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw .unreadable(error.localizedDescription)
        }
        guard data.count <= Limits.fileOctets else { throw .unreadable("the file is too large") }
        if path.hasSuffix(".json") {
            try self.init(json: data)
        } else {
            try self.init(text: String(decoding: data, as: UTF8.self))
        }
    }

    // MARK: - Details

    private struct Entry: Decodable {
        var a: [String]?
        var aaaa: [String]?
        var cname: String?
        var ttl: Int

        enum CodingKeys: String, CodingKey {
            case a = "A"
            case aaaa = "AAAA"
            case cname = "CNAME"
            case ttl
        }
    }

    private struct Complaint: Error {
        var text: String
    }

    private mutating func register(_ words: [String]) throws(Complaint) {
        if words.count == 2, words[1].lowercased() == "empty" {
            register(words[0])
            return
        }
        guard words.count == 4 || words.count == 5 else {
            throw Complaint(text: "expected 'name TTL A|AAAA|CNAME value' or 'name empty'")
        }
        guard let ttl = Int(words[1]), (0...Limits.ttlSeconds).contains(ttl) else {
            throw Complaint(text: "'\(words[1])' is not a TTL in seconds")
        }
        if words[2].uppercased() == "CNAME", words.count == 4 {
            guard words[3].asKey.isHostName else {
                throw Complaint(text: "'\(words[3])' is not a name")
            }
            guard register(words[0], aliasOf: words[3], ttl: ttl) else {
                throw Complaint(text: "\(words[0]) has records that conflict with this CNAME")
            }
            return
        }
        guard words[2].uppercased() != "CNAME" else {
            throw Complaint(text: "a CNAME record cannot have a subnet")
        }
        guard let family = Family(rawValue: words[2].uppercased()) else {
            throw Complaint(text: "'\(words[2])' is not A, AAAA or CNAME")
        }
        guard let address = Address(words[3]), address.family == family else {
            throw Complaint(
                text: "'\(words[3])' is not a valid address for type \(family.rawValue)"
            )
        }
        var record = Record(address: address, ttl: ttl)
        if words.count == 5 {
            guard words[4].hasPrefix("subnet="), let subnet = Subnet(words[4].dropFirst(7)) else {
                throw Complaint(text: "'\(words[4])' is not subnet=PREFIX/LENGTH")
            }
            record.subnet = subnet
        }
        guard register(words[0], record) else {
            throw Complaint(text: "\(words[0]) has a CNAME, and cannot have addresses")
        }
    }
}
