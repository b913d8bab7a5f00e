// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct TopVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show top lists, such as the names with the most billable calls.",
        discussion: """
            KIND selects the list and its order:
              names      names by queries
              misses     names by cache misses
              fallback   names that upstreams answered instead of a vendor, and why
              clients    clients by queries
              slow       queries by response time
              cost       names by billable calls, with the vendor and the route

            All lists except cost cover recent queries: the last 4,096 of each thread of the \
            daemon. The cost list counts since the start or `stats --reset`. The counts are exact \
            for up to 1,024 names per vendor. With more names, a count may be too high, but is \
            never too low, and is shown as a range.

            EXAMPLES
              httpdnsctl top names
              httpdnsctl top slow -n 3
              httpdnsctl top cost --json | jq -r '.entries[] | [.calls, .name] | @tsv'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Kind of list.", completion: .list(Completions.lists))
    var kind: String

    @Option(
        name: [.customShort("n"), .customLong("count")],
        help: "Maximum number of entries. (default: \(ControlLimits.topEntriesDefault))"
    )
    var count: Int?

    func validate() throws {
        let range = ControlLimits.topEntries
        guard count.map(range.contains) ?? true else {
            throw ValidationError(
                "--count requires a number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
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
