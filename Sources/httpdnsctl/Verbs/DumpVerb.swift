// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct DumpVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Print all cache entries; sends no query.",
        discussion: """
            Prints one line per RRset: name, remaining seconds, class, type, and the data of the \
            records, separated by commas. The part after the semicolon has the source, the age in \
            seconds and the number of hits. Stale entries have 0 remaining seconds and the mark \
            `stale`; negative entries have no data. If an entry has records of another name, such \
            as the target of a CNAME, these records are indented. With --json, prints one line per \
            entry.

            EXAMPLES
              httpdnsctl dump >cache.txt
              httpdnsctl dump | grep ' stale'
              httpdnsctl dump --json | jq -r 'select(.source == "tencent") | .name'
            """
    )

    @OptionGroup var options: Options

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var progress = Progress()
        defer { progress.clear() }
        var count = 0
        try client.stream(
            .dump,
            NoParameters(),
            as: DumpReply.self,
            silence: .zero
        ) { part throws(Failure) in
            var text = ""
            for entry in part.entries {
                text +=
                    options.printsJSON
                    ? try JSONOutput.text(entry, indented: false) + "\n" : DumpText.render(entry)
            }
            count += part.entries.count
            try Output.write(text)
            let total = Units.count(max(part.total, count))
            progress.show("\(Units.count(count)) of \(total) entries")
        }
        return .ok
    }
}
