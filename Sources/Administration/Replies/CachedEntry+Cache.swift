// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import DNSWire
internal import Resolver

extension CachedEntry {
    init(_ entry: CacheEntry, _ origins: AnswerSourceRegistry) {
        let origin = origins.name(entry.server)
        let message = entry.message
        let records = (message?.answers ?? []) + (message?.authorities ?? [])
        var (texts, octets): ([String], Int) = ([], 0)
        for record in records {
            let text = "\(record)"
            octets += text.utf8.count
            guard octets <= ControlLimits.recordOctets else {
                texts.append("… (\(records.count - texts.count) more records)")
                break
            }
            texts.append(text)
        }
        let parts = origin.split(separator: "/", maxSplits: 1).map(String.init)
        let server = parts.count > 1 ? parts[1] : ""
        self.init(
            name: "\(entry.name)",
            type: "\(entry.type)",
            rcode: entry.rcode == .noError && entry.isNegative
                ? "nodata" : "\(entry.rcode)".lowercased(),
            source: entry.source == .local ? "local" : parts.first ?? "",
            server: server,
            protected: entry.source == .local ? nil : !origins.isUnprotected(entry.server),
            validated: entry.isAuthentic,
            ageSeconds: Int(clamping: entry.age),
            ttlSeconds: Int(clamping: entry.remaining),
            stale: entry.remaining == 0,
            hits: UInt64(entry.hits),
            variant: entry.variant.text,
            records: texts
        )
        if origins.isOfFleet(entry.server) {
            fleet = server.split(separator: "/").dropFirst().first.map(String.init) ?? ""
        }
        synthesized = origins.isSynthesized(entry.server) ? true : nil
    }
}

extension CachedEntry {
    var recordOctets: Int { records.reduce(0) { $0 + $1.utf8.count } }
}

extension AnswerVariant {
    fileprivate var text: String {
        if self == .any { return "any" }
        return "do=\(rawValue & 1) cd=\(rawValue >> 1 & 1)"
    }
}
