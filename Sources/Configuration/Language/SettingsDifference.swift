// SPDX-License-Identifier: Apache-2.0
package import Control
internal import DNSWire
internal import HTTPDNS

extension SettingChange {
    fileprivate init(_ path: String, from old: String?, to new: String?) {
        let kind: Kind = old == nil ? .added : new == nil ? .removed : .changed
        self.init(path: path, kind: kind, old: old, new: new)
    }

    fileprivate init(secret path: String) {
        self.init(path: path, kind: .secret, old: nil, new: nil)
    }
}

extension Settings {
    /// Returns the differences between the effective values, in the order of the manual.
    ///
    /// The comparison ignores the order of routes.
    package func changes(to new: Settings) -> [SettingChange] {
        changes(to: new, listing: .max).listed
    }

    /// Returns the first `limit` differences, and the number of further differences.
    package func changes(
        to new: Settings,
        listing limit: Int
    ) -> (listed: [SettingChange], further: Int) {
        var (before, now) = (self, new)
        RouteSettings.dropUnchanged(&before.routes, &now.routes)
        var comparison = TreeComparison(limit: limit)
        for option in Self.table.options {
            if option.name == YAMLReader.longList {
                comparison.compare(before.routes, now.routes, at: option.name)
            } else {
                comparison.compare(option.write(before), option.write(now), at: option.name)
            }
        }
        for change in changedSecrets(in: new) { comparison.add(change) }
        return (comparison.changes, comparison.further)
    }

    private func changedSecrets(in new: Settings) -> [SettingChange] {
        typealias Secrets = [(option: String, secret: SecretSetting?)]
        func changed(_ before: Secrets, _ now: Secrets, at path: String) -> [SettingChange] {
            zip(before, now)
                .filter { old, new in
                    old.secret?.source == new.secret?.source && old.secret != new.secret
                }
                .map { _, new in SettingChange(secret: "\(path).\(new.option)") }
        }
        let ofVendors = new.vendors.flatMap { vendor -> [SettingChange] in
            guard let before = vendors.first(where: { $0.name == vendor.name }),
                before.kind == vendor.kind
            else { return [] }
            return changed(before.secrets, vendor.secrets, at: "vendors.\(vendor.name)")
        }
        return ofVendors + changed(fleet?.secrets ?? [], new.fleet?.secrets ?? [], at: "fleet")
    }
}

struct TreeComparison {
    private(set) var changes: [SettingChange] = []

    private(set) var further = 0

    private let limit: Int
    init(limit: Int = .max) { self.limit = limit }

    /// Number of compared nodes, for a test that the time is linear.
    private(set) var steps = 0

    /// Appends the differences to `changes`, in linear time.
    mutating func compare(_ old: YAMLNode?, _ new: YAMLNode?, at path: String) {
        steps += 1
        switch (old?.content, new?.content) {
        case (.mapping(let before), .mapping(let now)): comparePairs(before, now, at: path)
        case (.sequence(let before), .sequence(let now)):
            if (before + now).allSatisfy({ $0.entryName != nil }) {
                compareEntries(before, now, at: path)
            } else {
                compareItems(before.map(\.inline), now.map(\.inline), at: path)
            }
        default:
            guard old?.inline != new?.inline else { return }
            let (before, now) = (old?.redacted.inline, new?.redacted.inline)
            add(
                before == now
                    ? SettingChange(secret: path) : SettingChange(path, from: before, to: now)
            )
        }
    }

    private mutating func comparePairs(_ old: [YAMLPair], _ new: [YAMLPair], at path: String) {
        guard old.count != new.count || !zip(old, new).allSatisfy({ $0.key == $1.key }) else {
            for (before, now) in zip(old, new) {
                compare(before.value, now.value, at: path.isEmpty ? now.key : "\(path).\(now.key)")
            }
            return
        }
        let before = Dictionary(old.map { ($0.key, $0.value) }) { first, _ in first }
        let now = Dictionary(new.map { ($0.key, $0.value) }) { first, _ in first }
        for key in old.map(\.key) + new.map(\.key).filter({ before[$0] == nil }) {
            compare(before[key], now[key], at: path.isEmpty ? key : "\(path).\(key)")
        }
    }

    private mutating func compareEntries(_ old: [YAMLNode], _ new: [YAMLNode], at path: String) {
        let (oldNames, newNames) = (old.compactMap(\.entryName), new.compactMap(\.entryName))
        let before = Dictionary(zip(oldNames, old)) { first, _ in first }
        let now = Dictionary(zip(newNames, new)) { first, _ in first }
        for name in oldNames + newNames.filter({ before[$0] == nil }) {
            compare(before[name], now[name], at: "\(path).\(name)")
        }
        // The order of entries can be significant: the first upstreams are preferred.
        guard new.contains(where: { $0["name"] != nil }) else { return }
        let common = (oldNames.filter { now[$0] != nil }, newNames.filter { before[$0] != nil })
        if common.0 != common.1 {
            add(
                SettingChange(
                    path,
                    from: common.0.joined(separator: ", "),
                    to: common.1.joined(separator: ", ")
                )
            )
        }
    }

    private mutating func compareItems(_ old: [String], _ new: [String], at path: String) {
        guard old != new else { return }
        steps += old.count + new.count
        var left: [String: Int] = [:]
        for item in old { left[item, default: 0] += 1 }
        var added: [String] = []
        for item in new {
            if let count = left[item], count > 0 {
                left[item] = count - 1
            } else {
                added.append(item)
            }
        }
        var removed: [String] = []
        for item in old.reversed() {
            guard let count = left[item], count > 0 else { continue }
            left[item] = count - 1
            removed.append(item)
        }
        if added.isEmpty, removed.isEmpty {
            let texts = [old, new].map { "[" + $0.joined(separator: ", ") + "]" }
            add(SettingChange(path, from: texts[0], to: texts[1]))
            return
        }
        for item in removed { add(SettingChange(path, from: item, to: nil)) }
        for item in added { add(SettingChange(path, from: nil, to: item)) }
    }

    mutating func add(_ change: @autoclosure () -> SettingChange) {
        if changes.count < limit { changes.append(change()) } else { further += 1 }
    }
}

// MARK: - Comparing routes

extension TreeComparison {
    /// Compares routes with equal first domains.
    ///
    /// Only the trees of one pair exist at a time, because the trees of 100,000 routes take 200 MB.
    mutating func compare(_ old: [RouteSettings], _ new: [RouteSettings], at path: String) {
        let table = RouteSettings.table
        let (before, now) = (Self.positions(old), Self.positions(new))
        for route in old {
            let other = route.domains.first.flatMap { now[$0] }.map { table.write(new[$0]) }
            compare(table.write(route), other, at: Self.path(path, route))
        }
        for route in new where route.domains.first.flatMap({ before[$0] }) == nil {
            compare(nil, table.write(route), at: Self.path(path, route))
        }
    }

    private static func positions(_ routes: [RouteSettings]) -> [DomainPattern: Int] {
        Dictionary(
            routes.enumerated().compactMap { index, route in
                route.domains.first.map { ($0, index) }
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private static func path(_ path: String, _ route: RouteSettings) -> String {
        route.domains.first.map { "\(path).\($0)" } ?? path
    }
}

extension YAMLNode {
    fileprivate var entryName: String? {
        if let name = self["name"]?.scalar { return name }
        guard case .sequence(let domains) = self["domains"]?.content else { return nil }
        return domains.first?.scalar
    }
}

// MARK: - Comparing entries

extension RouteSettings {
    static func dropUnchanged(_ old: inout [RouteSettings], _ new: inout [RouteSettings]) {
        let last = zip(old.reversed(), new.reversed()).prefix { $0.hasSameValues(as: $1) }.count
        old.removeLast(last)
        new.removeLast(last)
        let isSame = zip(old, new).map { $0.hasSameValues(as: $1) }
        let remains = { (routes: [RouteSettings]) in
            routes.enumerated().filter { $0.offset >= isSame.count || !isSame[$0.offset] }
                .map(\.element)
        }
        (old, new) = (remains(old), remains(new))
    }

    private func hasSameValues(as other: RouteSettings) -> Bool {
        var other = other
        other.place = place
        return self == other
    }
}

extension VendorSettings {
    package func hasSameValues(as other: VendorSettings) -> Bool {
        var other = other
        other.place = place
        return self == other
    }

    /// Returns true if answers that were cached with the settings `other` stay valid.
    ///
    /// A secret from the same file as before counts as equal, even if its value has changed.
    package func givesSameAnswers(as other: VendorSettings) -> Bool {
        name == other.name && answerValues == other.answerValues
    }

    package var answerValues: String {
        var values = self
        values.client = VendorClient.Settings()
        values.client.clientSubnet = client.clientSubnet
        values.price = nil
        return "\(kind) \(table.write(values).inline)"
    }
}

extension UpstreamSettings {
    package func hasSameServers(as other: UpstreamSettings) -> Bool {
        var other = other
        other.only = only
        return self == other
    }
}

// MARK: - Changes that need a restart

extension Settings {
    package func takingEffect(after running: Settings) -> (
        settings: Settings, needsRestart: [String]
    ) {
        var wanted = self
        wanted.routes = []
        var settings = wanted
        settings.workers = running.workers
        settings.accelerate = running.accelerate
        settings.control = running.control
        settings.metrics.mode = running.metrics.mode
        settings.metrics.group = running.metrics.group
        settings.cache.size = running.cache.size
        let left = settings.changes(to: wanted).map(\.path)
        settings.routes = routes
        return (settings, left)
    }
}
