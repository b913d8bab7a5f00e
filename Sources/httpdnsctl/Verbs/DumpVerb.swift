// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl dump`.
struct DumpVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Write all that the cache holds; causes no traffic.",
        discussion: """
            A line for each set of records: its name, the seconds it has left, class, type, and the \
            data of its records, with commas between them; behind a semicolon who gave it, how old it \
            is and how often it was asked for. What is stale has 0 seconds left and says so, and what \
            does not exist has no data. Records of another name that belong to an entry, such as the \
            target of a CNAME, are indented. With --json each entry is a line.

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
