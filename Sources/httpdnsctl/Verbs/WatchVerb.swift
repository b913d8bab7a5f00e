// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl watch`.
struct WatchVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show queries as they are answered, until Ctrl-C.",
        discussion: """
            A line for each query: when it came, how long the answer took, what was asked, and who \
            gave the answer. Those that the cache answered name the server that had told it.

            Watching slows no answer: of more than 8,000 queries a second some are only counted, \
            and so are those that came faster than they could be read. What is turned away before \
            it is read as a question, such as queries of clients outside `allow`, is not shown; \
            `stats` counts it.

            EXAMPLES
              httpdnsctl watch
              httpdnsctl watch --name example.com --slower 50ms
              httpdnsctl watch --source failed
              httpdnsctl watch --json -n 100 | jq -r '.queries[] | [.name, .type] | @tsv'
            """
    )

    @OptionGroup var options: Options

    @Option(name: .long, help: "Only this name and what is below it.")
    var name: String?

    @Option(name: .long, help: "Only this record type, such as A or TYPE65.")
    var type: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only answers of the cache, stale, vendor, upstream, local, failed; or of the vendor or "
                + "upstream of this name."
        ),
        completion: .custom { _, _, _ in Completions.sources }
    )
    var source: String?

    @Option(
        name: .long,
        help: "Only answers with this RCODE, such as nxdomain; also nodata.",
        completion: .list(Completions.rcodes)
    )
    var rcode: String?

    @Option(name: .long, help: ArgumentHelp("Only queries of this client.", valueName: "address"))
    var client: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only answers that took longer, such as 50ms or 1s; a plain number is in ms.",
            valueName: "time"
        )
    )
    var slower: Latency?

    @Option(
        name: [.customShort("n"), .customLong("count")],
        help: "End after so many queries, 1 to 1000000."
    )
    var count: Int?

    func validate() throws {
        if let count, !(1...1_000_000).contains(count) {
            throw ValidationError("--count takes 1 to 1000000.")
        }
        if let slower, !(0...60_000_000).contains(slower.microseconds) {
            throw ValidationError("--slower takes 0 to 60s.")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var request = WatchRequest()
        request.name = name
        request.type = type
        request.source = source
        request.rcode = rcode
        request.client = self.client
        // In milliseconds, which older daemons know, too.
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
                // The first reply says that from now on nothing is missed.
                if isFirst { try Output.write(palette.paint(QueryText.heading, .heading)) }
                try Output.write(QueryText.render(events, palette))
            }
            isFirst = false
        }
        return .ok
    }
}
