// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import DNSWire

struct ResolveVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Resolve names as if a client had queried them, up to 16 in parallel.",
        usage: "httpdnsctl resolve NAME ... [TYPE]",
        discussion: """
            The daemon resolves the names through cache, vendors and upstreams. The resolution can \
            cause billable calls. The daemon stores the answers in the cache. The results have the \
            order of the names. Without a type, resolves A and AAAA. If the last of several \
            arguments is a type, such as MX, the command resolves this type; for a domain name \
            that looks like a type, write `mx.`. `-` reads names from standard input, one per \
            line; `#` starts a comment.

            Exits with 1 unless every name has records.

            EXAMPLES
              httpdnsctl resolve www.example.com
              httpdnsctl resolve www.example.com www.example.org AAAA
              httpdnsctl resolve - <names.txt
              httpdnsctl resolve --json www.example.com | jq -r '.records[]'
            """
    )

    /// Maximum number of names in one call, because a call must fit into 64 KiB.
    private static let namesInCall = 48

    @OptionGroup var options: Options

    @Argument(help: "Names, then an optional type; `-` reads names from standard input.")
    var names: [String]

    @Option(name: .long, help: "Type, such as A, AAAA or TYPE65.")
    var type: String?

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
        guard !names.isEmpty else { throw Failure(message: "no names given", status: .usage) }
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
                throw Failure(message: "the daemon returned no result for some of the names")
            }
        }
        return resolved == names.count ? .ok : .failed
    }

    private static func read() -> [String] {
        var names: [String] = []
        while let line = readLine() {
            let text = line.prefix { $0 != "#" }
            names += text.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        return names
    }
}
