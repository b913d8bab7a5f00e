// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// What the settings answer, whatever others say: it is asked of nobody and never in the cache.
///
/// Workers answer from the cache before any stage sees a query, so what must not be answered must not
/// be there: not what a vendor's call brought along, not what was asked before the hosts changed, not
/// what was kept in an earlier life.
@ServiceLoop
final class Overrides {
    /// The names that are written down.
    var hosts = HostsTable()

    /// Whether all names are without IPv6 addresses.
    let suppressesAAAA: Bool

    /// Overrides without hosts, yet.
    init(suppressesAAAA: Bool) {
        self.suppressesAAAA = suppressesAAAA
    }

    /// Whether the answer to `question` is the settings'.
    func cover(_ question: Question) -> Bool {
        suppressesAAAA && question.type == .aaaa || hosts.covers(question)
    }
}
