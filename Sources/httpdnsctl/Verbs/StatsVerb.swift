// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl stats`.
struct StatsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show what was counted.",
        discussion: """
            Each of the tables by source, by rcode and by transport divides all queries. Latencies \
            are upper bounds: half, 90 %, 99 % and 99.9 % of all were at most as long. A vendor bills \
            its billable calls, or the names in them; COST divides those names by the routes that \
            sent them.

            EXAMPLES
              httpdnsctl stats
              httpdnsctl stats --watch 2     what happens, every 2 s until Ctrl-C
              httpdnsctl stats --reset       show, then count from zero
              httpdnsctl stats --json | jq '[.vendors[]."billable-calls"] | add'
            """
    )

    @OptionGroup var options: Options

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Every so many seconds (1 to 86400) show what changed; with --json, each "
                + "reply is one line.",
            valueName: "seconds"
        )
    )
    var watch: Int?

    @Flag(name: .long, help: "Start counting from zero after this reply.")
    var reset = false

    func validate() throws {
        guard let watch else { return }
        guard (1...86400).contains(watch) else {
            throw ValidationError("--watch takes 1 to 86400 seconds.")
        }
        guard !reset else { throw ValidationError("--watch and --reset exclude each other.") }
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
