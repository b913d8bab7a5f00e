// SPDX-License-Identifier: Apache-2.0

/// What stands at a path: all that is needed to put it there again.
struct FileState: Codable, Equatable, Sendable {
    /// What it is.
    var kind: Kind

    /// What is in a file.
    var octets: [UInt8] = []

    /// Where a symbolic link leads, as it says.
    var target = ""

    /// The permissions of a file.
    var mode: UInt32 = 0

    /// Who owns it.
    var user: UInt32 = 0

    /// Which group owns it.
    var group: UInt32 = 0

    /// When a file was last written, so that it comes back with its time; not compared.
    var modified: Moment?

    /// The kinds of things at a path.
    enum Kind: String, Codable, Sendable {
        /// Nothing.
        case absent
        /// A regular file.
        case file
        /// A symbolic link.
        case link
        /// A directory, a device, a socket: never touched.
        case other
    }

    /// A time of the file system.
    struct Moment: Codable, Equatable, Sendable {
        var seconds: Int
        var nanoseconds: Int
    }

    // MARK: - Making

    /// Nothing.
    static let absent = FileState(kind: .absent)

    /// A file of root's that everybody may read.
    static func file(_ text: String, mode: UInt32 = 0o644) -> FileState {
        FileState(kind: .file, octets: Array(text.utf8), mode: mode)
    }

    /// A link of root's.
    static func link(to target: String) -> FileState { FileState(kind: .link, target: target) }

    // MARK: - Reading

    /// What is in a file, as text.
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
    /// The names in the journal.
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

    /// Text stays text, so that a person can read the journal and put things right by hand.
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
