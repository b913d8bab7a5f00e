// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct BillVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "bill",
        abstract: "Show billed units and costs, and settings that cost less.",
        discussion: """
            Counts what each vendor bills, by the rules of its price page or of the option `price`, \
            in total, by route and for the most expensive names. The counts of the day and the month \
            (UTC) are those of all daemons of this machine, and survive restarts. They are upper \
            bounds: a call of which it is unknown whether the vendor bills it counts. The list of \
            settings that cost less is computed from the calls since the start or `stats --reset`. \
            Compare with the vendor's invoice before you rely on the figures.

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
            "Set the counts of the day and the month of a vendor to 0.",
            discussion: "Required after the file with the counts was damaged.",
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
