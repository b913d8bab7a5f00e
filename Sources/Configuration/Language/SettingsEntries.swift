// SPDX-License-Identifier: Apache-2.0

protocol SettingsEntry: Sendable {
    static var table: SettingsTable<Self> { get }
    init(name: String, place: SettingsPlace)
    var name: String { get }
}

// MARK: - Rows of entries

extension SettingsOption {
    /// Makes the option for the vendors; a later file adds or changes vendors.
    static func named(
        _ name: String,
        _ path: @autoclosure @escaping Path<[VendorSettings]>,
        doc: () -> String
    ) -> SettingsOption {
        let doc = doc()
        return SettingsOption(
            name: name,
            read: { pair, key, owner, reading in
                let path = path()
                guard case .mapping(let pairs) = pair.value.content else {
                    reading.damage(key)
                    return reading.reportMismatch(
                        pair.value,
                        key,
                        expected: "a mapping of names (`\(VendorSettings.examples[0].name): {…}`)"
                    )
                }
                for pair in pairs {
                    let known = owner[keyPath: path].firstIndex { $0.name == pair.key }
                    let index = known ?? owner[keyPath: path].count
                    let key = key.item(index, name: pair.key.shortened)
                    guard EntryName.isValid(pair.key) else {
                        reading.report(
                            pair.keyPlace,
                            "`\(pair.key.shortened)` is not a name: \(EntryName.rule)"
                        )
                        reading.leftOut.insert(pair.key)
                        continue
                    }
                    if known != nil {
                        let entry = owner[keyPath: path][index]
                        if let refusal = entry.refusal(of: pair.value) {
                            reading.report(refusal.place, refusal.message, hint: refusal.hint)
                            continue
                        }
                        entry.table.read(
                            pair.value,
                            as: key,
                            into: &owner[keyPath: path][index],
                            &reading
                        )
                        continue
                    }
                    var entry = VendorSettings(
                        name: pair.key,
                        place: reading.place(at: pair.keyPlace)
                    )
                    reading.note(pair.keyPlace, of: key)
                    let table = VendorSettings.table(for: pair.value)
                    table.read(pair.value, as: key, into: &entry, &reading)
                    owner[keyPath: path].append(entry)
                }
            },
            write: { owner in
                .map(owner[keyPath: path()].map { ($0.name, $0.table.write($0)) })
            },
            explain: { _ in
                SettingsManual.Entry(name: name, doc: doc, form: .named(VendorSettings.examples))
            }
        )
    }

    /// Makes an option for a list of entries.
    ///
    /// A later file appends entries, or changes entries with the same name. An empty list removes
    /// the entries of earlier files.
    ///
    /// - Parameter live: entries that the manual shows as active settings, not as comments.
    static func list<Entry: SettingsEntry>(
        _ name: String,
        _ path: @autoclosure @escaping Path<[Entry]>,
        live: @autoclosure @escaping @Sendable () -> [Entry] = [],
        doc: () -> String
    ) -> SettingsOption {
        let doc = doc()
        return SettingsOption(
            name: name,
            read: { pair, key, owner, reading in
                let path = path()
                if case .taken = pair.value.content { return }
                guard case .sequence(let items) = pair.value.content else {
                    reading.damage(key)
                    return reading.reportMismatch(
                        pair.value,
                        key,
                        expected: "a list (`- key: value`)"
                    )
                }
                if items.isEmpty {
                    owner[keyPath: path] = []
                    reading.forget(below: key)
                }
                let before = owner[keyPath: path].count
                var changed: [Int: YAMLPlace] = [:]
                for item in items {
                    let known = item["name"]?.scalar.flatMap { name in
                        owner[keyPath: path][..<before].firstIndex { $0.name == name }
                    }
                    if let known, owner[keyPath: path][known].name != "" {
                        if let first = changed[known] {
                            let entry = owner[keyPath: path][known].name
                            let place = item["name"]?.place ?? item.place
                            reading.report(
                                place,
                                "`\(key.shown)` has two entries with the name `\(entry)`",
                                hint: "the first one is " + reading.pointer(to: first, from: place)
                            )
                            continue
                        }
                        changed[known] = item.place
                        let key = key.item(known)
                        Entry.table.read(
                            item,
                            as: key,
                            into: &owner[keyPath: path][known],
                            &reading
                        )
                        continue
                    }
                    let key = key.item(owner[keyPath: path].count)
                    var entry = Entry(name: "", place: reading.place(at: item.place))
                    reading.note(item.place, of: key)
                    Entry.table.read(item, as: key, into: &entry, &reading)
                    owner[keyPath: path].append(entry)
                }
            },
            write: { owner in .list(owner[keyPath: path()].map(Entry.table.write)) },
            explain: { _ in
                let fresh = Entry(name: "", place: SettingsPlace())
                let shown = live().map { Entry.table.writeBriefly($0, defaults: fresh) }
                return SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    form: .list(live: .list(shown), Entry.table.explain(fresh))
                )
            }
        )
    }
}

enum EntryName {
    static let maximumLength = 63
    static let rule = "a name has 1 to \(maximumLength) characters (letters, digits, `-`, `_`, `.`)"
    static let pattern = "^[A-Za-z0-9._-]{1,\(maximumLength)}$"

    static func isValid(_ name: String) -> Bool {
        (1...maximumLength).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    var isLetterOrDigit: Bool { isLetter || isDigit }
}
