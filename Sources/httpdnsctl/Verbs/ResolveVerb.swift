// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import DNSWire

/// `httpdnsctl resolve`.
struct ResolveVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Ask for names as clients do, many at once.",
        usage: "httpdnsctl resolve NAME ... [TYPE]",
        discussion: """
            Names go the way of every client's: cache, vendors, upstreams; so they may cost billable \
            calls, and fill the cache. 16 names are asked at a time, and shown in the order in which \
            they were given. Without a type addresses of both families are asked for. The last of \
            several arguments is the type if there is a type of that name; a final dot makes it a \
            name. With - for a name they are read from standard input, one a line; # begins a comment.

            Exits with 1 unless every name has records.

            EXAMPLES
              httpdnsctl resolve www.example.com
              httpdnsctl resolve www.example.com www.example.org AAAA
              httpdnsctl resolve - <names.txt
              httpdnsctl resolve --json www.example.com | jq -r '.records[]'
            """
    )

    /// Names in one call, so that it stays below its longest (64 KiB) whatever they are.
    private static let namesInCall = 48

    @OptionGroup var options: Options

    @Argument(help: "The names, and perhaps the type; - reads names from standard input.")
    var names: [String]

    @Option(name: .long, help: "The type, such as A, AAAA or TYPE65.")
    var type: String?

    /// The arguments without the type, and the type.
    var question: (names: [String], type: String?) {
        guard type == nil, names.count > 1, let last = names.last, RecordType(last) != nil else {
            return (names, type)
        }
        return (names.dropLast(), last)
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let (arguments, type) = question
        var names: [String] = []
        for name in arguments {
            names += name == "-" ? Self.read() : [name]
        }
        guard !names.isEmpty else { throw Failure(message: "there are no names", status: .usage) }
        let palette = Output.palette
        var progress = Progress()
        defer { progress.clear() }
        if !options.printsJSON { try Output.write(palette.paint(ResolveText.heading, .heading)) }
        var (told, resolved) = (0, 0)
        while told < names.count {
            let part = Array(names[told...].prefix(Self.namesInCall))
            progress.show("\(Units.count(told)) of \(Units.count(names.count)) names")
            try client.stream(
                .resolve,
                ResolveRequest(names: part, type: type),
                as: ResolveReply.self,
                silence: .zero
            ) { reply throws(Failure) in
                let results = reply.results
                guard !results.isEmpty else { return }
                told += 1
                if results.contains(where: \.isResolved) { resolved += 1 }
                for result in results {
                    try Output.write(
                        options.printsJSON
                            ? try JSONOutput.text(result, indented: false) + "\n"
                            : ResolveText.render(result, palette)
                    )
                }
                progress.show("\(Units.count(told)) of \(Units.count(names.count)) names")
            }
            guard told.isMultiple(of: Self.namesInCall) || told == names.count else {
                throw Failure(message: "the daemon left names out", status: .failed)
            }
        }
        return resolved == names.count ? .ok : .failed
    }

    /// The names on standard input.
    private static func read() -> [String] {
        var names: [String] = []
        while let line = readLine() {
            let text = line.prefix { $0 != "#" }
            names += text.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        return names
    }
}
