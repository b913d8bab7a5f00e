// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl top`.
struct TopVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show what there is most of: the names that cost most.",
        discussion: """
            KIND is what the list is ordered by; today there is `cost`, the names in the most \
            billable calls, with the vendor that was asked and the route that sent them there. \
            1024 names a vendor are counted apart. Beyond that a count may be too high, and is shown \
            as a range; none is too low.

            Counting begins with the daemon, and with `stats --reset`.

            EXAMPLES
              httpdnsctl top cost
              httpdnsctl top cost -n 100
              httpdnsctl top cost --json | jq -r '.entries[] | [.calls, .name] | @tsv'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "What the list is ordered by: cost.")
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
        try show(reply, as: TopReply.self, TopText.render)
        return .ok
    }
}
