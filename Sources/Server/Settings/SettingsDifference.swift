// SPDX-License-Identifier: Apache-2.0

/// One thing that settings say otherwise than those before them.
package struct SettingsChange: Sendable, Hashable {
    /// What is changed.
    package enum Kind: String, Sendable, Hashable {
        case added, removed, changed

        /// The value of a secret, which is shown to nobody.
        case secret
    }

    package let kind: Kind

    /// The option, entries by their names: `cache.size`, `vendors.tencent.timeout`, `upstreams.isp`,
    /// and routes by their first domains: `routes.example.com.vendors`.
    package let path: String

    /// The value before, in one line of YAML; nil if there was none, or for a secret.
    package let old: String?

    /// The value now, likewise.
    package let new: String?

    /// A change of the value at `path`.
    init(_ path: String, from old: String?, to new: String?) {
        kind = old == nil ? .added : new == nil ? .removed : .changed
        self.path = path
        self.old = old
        self.new = new
    }

    /// A secret has another value, at the place where it was.
    init(secret path: String) {
        kind = .secret
        self.path = path
        old = nil
        new = nil
    }
}

extension Settings {
    /// In what `new` differs from these settings, in the order of the manual.
    ///
    /// Compared is what is in force, as it is printed: a default that is written out is no change,
    /// and neither is a comment or the order of routes.
    package func changes(to new: Settings) -> [SettingsChange] {
        var comparison = TreeComparison()
        comparison.compare(Self.table.write(self), Self.table.write(new), at: "")
        return comparison.changes + changedSecrets(in: new)
    }

    /// Secrets that are kept where they were, and are others.
    private func changedSecrets(in new: Settings) -> [SettingsChange] {
        new.vendors.flatMap { vendor -> [SettingsChange] in
            guard let before = vendors.first(where: { $0.name == vendor.name }),
                before.kind == vendor.kind
            else { return [] }
            return zip(before.account.any.secrets, vendor.account.any.secrets)
                .filter { old, new in
                    old.secret?.source == new.secret?.source && old.secret != new.secret
                }
                .map { _, new in
                    SettingsChange(secret: "vendors.\(vendor.name).\(new.option)")
                }
        }
    }
}

/// Compares settings as they are printed.
struct TreeComparison {
    private(set) var changes: [SettingsChange] = []

    /// Pairs of values that were compared, and items of lists: a measure of the work.
    private(set) var steps = 0

    /// Notes in what two values differ; the work is linear in their size.
    mutating func compare(_ old: YAMLNode?, _ new: YAMLNode?, at path: String) {
        steps += 1
        switch (old?.content, new?.content) {
        case (.mapping(let before), .mapping(let now)):
            comparePairs(before, now, at: path)
        case (.sequence(let before), .sequence(let now)):
            if (before + now).allSatisfy({ $0.entryName != nil }) {
                compareEntries(before, now, at: path)
            } else {
                compareItems(before.map(\.inline), now.map(\.inline), at: path)
            }
        default:
            let (before, now) = (old?.inline, new?.inline)
            if before != now { changes.append(SettingsChange(path, from: before, to: now)) }
        }
    }

    /// Compares mappings by their keys.
    private mutating func comparePairs(_ old: [YAMLPair], _ new: [YAMLPair], at path: String) {
        // Nearly always the same keys in the same order: then no table of them is needed.
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

    /// Compares entries by their names.
    private mutating func compareEntries(_ old: [YAMLNode], _ new: [YAMLNode], at path: String) {
        let (oldNames, newNames) = (old.compactMap(\.entryName), new.compactMap(\.entryName))
        let before = Dictionary(zip(oldNames, old)) { first, _ in first }
        let now = Dictionary(zip(newNames, new)) { first, _ in first }
        for name in oldNames + newNames.filter({ before[$0] == nil }) {
            compare(before[name], now[name], at: "\(path).\(name)")
        }
        // Of entries that have a name of their own the order is a preference.
        guard new.contains(where: { $0["name"] != nil }) else { return }
        let common = (oldNames.filter { now[$0] != nil }, newNames.filter { before[$0] != nil })
        if common.0 != common.1 {
            changes.append(
                SettingsChange(
                    path,
                    from: common.0.joined(separator: ", "),
                    to: common.1.joined(separator: ", ")
                )
            )
        }
    }

    /// Compares values in a list: what was removed, the last one first, and added, or their order.
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
            changes.append(SettingsChange(path, from: texts[0], to: texts[1]))
            return
        }
        changes += removed.map { SettingsChange(path, from: $0, to: nil) }
        changes += added.map { SettingsChange(path, from: nil, to: $0) }
    }
}

extension YAMLNode {
    /// What an entry of a list is called: its name, or its first domain.
    fileprivate var entryName: String? {
        if let name = self["name"]?.scalar { return name }
        guard case .sequence(let domains) = self["domains"]?.content else { return nil }
        return domains.first?.scalar
    }
}

// MARK: - Comparing entries

extension VendorSettings {
    /// Whether all is the same, but for the place in the file.
    func hasSameValues(as other: VendorSettings) -> Bool {
        var other = other
        other.place = place
        return self == other
    }

    /// Whether the same account is asked for the same client, so that answers stay what they were.
    ///
    /// A secret that was renewed where it is kept makes no other account.
    func givesSameAnswers(as other: VendorSettings) -> Bool {
        guard kind == other.kind, name == other.name else { return false }
        var tuned = other
        tuned.timeout = timeout
        tuned.retriesBeforeSwitch = retriesBeforeSwitch
        tuned.hedgeAfter = hedgeAfter
        tuned.returnToPrimaryAfter = returnToPrimaryAfter
        tuned.caFile = caFile
        tuned.http = http
        tuned.proxy = proxy
        tuned.concurrentCalls = concurrentCalls
        tuned.callsPerSecond = callsPerSecond
        tuned.batching = batching
        tuned.budget = budget
        return table.write(self).inline == tuned.table.write(tuned).inline
    }
}

extension UpstreamSettings {
    /// Whether the same servers are spoken to in the same way.
    ///
    /// Who is served by them is another question.
    func hasSameServers(as other: UpstreamSettings) -> Bool {
        var other = other
        other.place = place
        other.only = only
        return self == other
    }
}

// MARK: - What needs a restart

extension Settings {
    /// These settings as far as they can take the place of `running` ones, and the options that
    /// cannot, as they are read at the start only.
    func takingEffect(after running: Settings) -> (settings: Settings, needsRestart: [String]) {
        // A comparison of routes is of no use here, and there may be 100,000.
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
