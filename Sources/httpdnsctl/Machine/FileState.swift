// SPDX-License-Identifier: Apache-2.0

/// Content, owner and mode of a file or link, for a later restore.
struct FileState: Codable, Equatable, Sendable {
    var kind: Kind
    var octets: [UInt8] = []
    var target = ""
    var mode: UInt32 = 0
    var user: UInt32 = 0
    var group: UInt32 = 0

    /// Modification time; `==` ignores the time.
    var modified: Moment?

    enum Kind: String, Codable, Sendable {
        case absent
        case file
        case link
        /// Directory, device or socket, which setup never changes.
        case other
    }

    struct Moment: Codable, Equatable, Sendable {
        var seconds: Int
        var nanoseconds: Int
    }

    // MARK: - Making

    static let absent = FileState(kind: .absent)

    static func file(_ text: String, mode: UInt32 = 0o644) -> FileState {
        FileState(kind: .file, octets: Array(text.utf8), mode: mode)
    }

    // MARK: - Reading

    var text: String { String(decoding: octets, as: UTF8.self) }

    static func == (left: FileState, right: FileState) -> Bool {
        guard left.kind == right.kind else { return false }
        let sameOwner = left.user == right.user && left.group == right.group
        return switch left.kind {
        case .absent: true
        case .file: sameOwner && left.mode == right.mode && left.octets == right.octets
        case .link: sameOwner && left.target == right.target
        case .other: false
        }
    }
}

// MARK: - JSON

extension FileState {
    private enum CodingKeys: String, CodingKey {
        case kind, text, octets, target, mode, user, group, modified
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(kind: try container.decode(Kind.self, forKey: .kind))
        if let text = try container.decodeIfPresent(String.self, forKey: .text) {
            octets = Array(text.utf8)
        } else {
            octets = try container.decodeIfPresent([UInt8].self, forKey: .octets) ?? []
        }
        target = try container.decodeIfPresent(String.self, forKey: .target) ?? ""
        mode = try container.decodeIfPresent(UInt32.self, forKey: .mode) ?? 0
        user = try container.decodeIfPresent(UInt32.self, forKey: .user) ?? 0
        group = try container.decodeIfPresent(UInt32.self, forKey: .group) ?? 0
        modified = try container.decodeIfPresent(Moment.self, forKey: .modified)
    }

    /// Encodes UTF-8 content as text, so that an operator can restore it by hand.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        guard kind == .file || kind == .link else { return }
        try container.encode(user, forKey: .user)
        try container.encode(group, forKey: .group)
        guard kind == .file else { return try container.encode(target, forKey: .target) }
        try container.encode(mode, forKey: .mode)
        try container.encodeIfPresent(modified, forKey: .modified)
        if let text = String(validating: octets, as: UTF8.self) {
            try container.encode(text, forKey: .text)
        } else {
            try container.encode(octets, forKey: .octets)
        }
    }
}
