// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl top`.
struct TopVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show what there is most of, such as the names that cost most.",
        discussion: """
            KIND is what the list is ordered by:
              names      names by queries
              misses     names by queries that the cache could not answer
              fallback   names that upstreams answered in a vendor's place, and why
              clients    clients by queries
              slow       the queries that took longest
              cost       names by billable calls, with the vendor and the route

            All but cost look at the last 4,096 queries of each worker, and at those of the service \
            loop, which sees what the cache could not answer. Of costs 1024 names a vendor are counted \
            apart, from the start or `stats --reset` on. Beyond that a count may be too high, and is \
            shown as a range; none is too low.

            EXAMPLES
              httpdnsctl top names
              httpdnsctl top slow -n 3
              httpdnsctl top cost --json | jq -r '.entries[] | [.calls, .name] | @tsv'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "What the list is ordered by.", completion: .list(Completions.lists))
    var kind: String

    @Option(
        name: [.customShort("n"), .customLong("count")],
        help: "How many entries at most. (default: \(ControlLimits.topEntriesDefault))"
    )
    var count: Int?

    func validate() throws {
        let range = ControlLimits.topEntries
        guard count.map(range.contains) ?? true else {
            throw ValidationError("--count takes \(range.lowerBound) to \(range.upperBound).")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        // The daemon knows which kinds it has.
        let reply = try client.call(.top, TopRequest(kind: kind, count: count))
        switch TopRequest.Kind(rawValue: kind) {
        case .cost, nil: try show(reply, as: TopReply<NameCost>.self, TopText.costs)
        case .slow: try show(reply, as: TopReply<QueryEvent>.self, TopText.slowest)
        case .names, .misses, .fallback, .clients:
            try show(reply, as: TopReply<QueryCount>.self, TopText.counts)
        }
        return .ok
    }
}
