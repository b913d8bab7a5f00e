// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct BillVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "bill",
        abstract: "Show the units that vendors bill, the cost, and settings that cost less.",
        discussion: """
            Vendors bill units: each billed item, such as a request or a name, costs one or more \
            units. The daemon counts the units by the rules of the vendor's price page, or of the \
            option `price`. The output shows the units in total, by route, and for the most \
            expensive names. The counts of the day and the month (UTC) include all daemons of this \
            machine, and survive restarts. The counts are upper bounds: a call also counts if the \
            daemon does not know whether the vendor bills it. The output also suggests settings \
            that cost less, based on the calls since the start or `stats --reset`. Before you rely \
            on the counts, compare the counts with the vendor's invoice.

            EXAMPLES
              httpdnsctl bill
              httpdnsctl bill --month --json | jq '.vendors[] | [.name, .cost.amount]'
              httpdnsctl bill --reset tencent
            """
    )

    @OptionGroup var options: Options

    @Flag(help: "Show the cost of the month instead of the day (UTC).")
    var month = false

    @Option(
        help: ArgumentHelp(
            "Set the vendor's counts (calls, units) of the day and month to 0.",
            discussion: """
                If the file with the counts (usage.state) is damaged, the daemon treats the \
                budgets as spent until you run this command.
                """,
            valueName: "vendor"
        )
    )
    var reset: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.bill, BillRequest(month: month ? true : nil, reset: reset))
        try show(reply, as: BillReply.self, BillText.render)
        return .ok
    }
}
