// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct StatsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show the counters.",
        discussion: """
            The tables by source, by rcode and by transport each count all queries. Latencies are \
            quantiles: 50 %, 90 %, 99 % and 99.9 % of the queries took at most this long (the \
            value is at most an eighth too high). The counters are not reset without --reset. Some \
            vendors bill each call; other vendors bill each name in a call. So the table BILLED \
            shows the number of calls and the number of names, and the names also by route. With \
            --watch and --json, each interval prints one line.

            EXAMPLES
              httpdnsctl stats
              httpdnsctl stats --watch 2     changes every 2 s until Ctrl-C
              httpdnsctl stats --reset       show, then reset to zero
              httpdnsctl stats --json | jq '[.vendors[]."billable-calls"] | add'
            """
    )

    @OptionGroup var options: Options

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Show the changed counters every SECONDS (1 to 86400).",
            valueName: "seconds"
        )
    )
    var watch: Int?

    @Flag(name: .long, help: "Set the counters to zero after showing them.")
    var reset = false

    func validate() throws {
        guard let watch else { return }
        guard (1...86400).contains(watch) else {
            throw ValidationError("--watch requires 1 to 86400 seconds.")
        }
        guard !reset else { throw ValidationError("--watch and --reset cannot be combined.") }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        guard let watch else {
            let request = StatsRequest(reset: reset ? true : nil)
            try show(try client.call(.stats, request), as: StatsReply.self, StatsText.render)
            return .ok
        }

        var previous: (stats: StatsReply, at: ContinuousClock.Instant)?
        try client.stream(
            .stats,
            StatsRequest(everySeconds: watch),
            silence: .seconds(watch)
        ) { reply throws(Failure) in
            let now = ContinuousClock.now
            let stats = try reply.checked(as: StatsReply.self)
            if options.printsJSON {
                try Output.write(try JSONOutput.text(reply.parameters, indented: false) + "\n")
            } else if let previous {
                let seconds = (now - previous.at) / .seconds(1)
                let palette = Output.palette
                try Output.write(
                    RatesText.render(from: previous.stats, to: stats, seconds: seconds, palette)
                )
            }
            previous = (stats, now)
        }
        return .ok
    }
}
