// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct WatchVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show queries as they are answered, until Ctrl-C.",
        usage: "httpdnsctl watch [OPTION ...]",
        discussion: """
            Shows one line per query: arrival time, response time, RCODE, question, source of the \
            answer, and client. For a cached answer, the line also shows the server from which the \
            daemon got the answer.

            Watching does not delay answers: at most 8,000 queries per second are listed, and \
            fewer if the daemon is busy. For the other queries, the command shows only their \
            number. Queries that are rejected before their question is parsed, such as those of \
            clients outside `allow`, are not shown; `stats` counts them.

            EXAMPLES
              httpdnsctl watch
              httpdnsctl watch --name example.com --slower 50ms
              httpdnsctl watch --source failed
              httpdnsctl watch --json -n 100 | jq -r '.queries[] | [.name, .type] | @tsv'
            """
    )

    @OptionGroup var options: Options

    @Option(name: .long, help: "Only this name and the names below it.")
    var name: String?

    @Option(name: .long, help: "Only this record type, such as A or TYPE65.")
    var type: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only this source: cache, stale, vendor, upstream, local, failed, or the name of a"
                + " vendor or upstream."
        ),
        completion: .custom { _, _, _ in Completions.sources }
    )
    var source: String?

    @Option(
        name: .long,
        help:
            "Only answers with this RCODE, such as nxdomain, or nodata (NOERROR without records).",
        completion: .list(Completions.rcodes)
    )
    var rcode: String?

    @Option(name: .long, help: ArgumentHelp("Only queries from this client.", valueName: "address"))
    var client: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only answers slower than this time: 50ms, 1s, or 50 (milliseconds).",
            valueName: "time"
        )
    )
    var slower: Latency?

    @Option(
        name: [.customShort("n"), .customLong("count")],
        help: "Stop after this number of queries, 1 to 1000000."
    )
    var count: Int?

    func validate() throws {
        if let count, !(1...1_000_000).contains(count) {
            throw ValidationError("--count requires a number from 1 to 1000000.")
        }
        if let slower, !(0...60_000_000).contains(slower.microseconds) {
            throw ValidationError("--slower requires a time from 0 to 60s.")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var request = WatchRequest()
        request.name = name
        request.type = type
        request.source = source
        request.rcode = rcode
        request.client = self.client
        // The unit is milliseconds, because older daemons accept no other unit.
        request.slowerMs = slower.map { Double($0.microseconds) / 1_000 }
        request.count = count
        let palette = Output.palette
        var isFirst = true
        try client.stream(.watch, request) { reply throws(Failure) in
            let events = try reply.checked(as: WatchReply.self)
            if options.printsJSON {
                guard reply.continues else { return }
                try Output.write(try JSONOutput.text(reply.parameters, indented: false) + "\n")
            } else {
                // The first reply means that the daemon reports all queries from now on.
                if isFirst { try Output.write(palette.paint(QueryText.heading, .heading)) }
                try Output.write(QueryText.render(events, palette))
            }
            isFirst = false
        }
        return .ok
    }
}
