// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl flush`.
struct FlushVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "flush",
        abstract: "Remove entries from the cache or mark them stale, and tell how many.",
        usage: """
            httpdnsctl flush NAME [TYPE]
            httpdnsctl flush --tree NAME
            httpdnsctl flush --negative | --stale | --source SOURCE
            httpdnsctl flush --all
            """,
        discussion: """
            The next query for a removed name causes traffic, with a vendor a billable call. \
            Removing nothing is no error. With --soft entries are only marked stale: they are \
            refreshed at the next query, and given if no server answers.

            EXAMPLES
              httpdnsctl flush www.example.com         all types of one name
              httpdnsctl flush www.example.com AAAA    one type of it
              httpdnsctl flush --tree example.com      example.com and all below it
              httpdnsctl flush --negative              entries without records
              httpdnsctl flush --source tencent        what a vendor or an upstream said
              httpdnsctl flush --all --soft            mark all entries stale
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "The name to remove.")
    var name: String?

    @Argument(help: "Only this type of it, such as A, AAAA or TYPE65.")
    var type: String?

    @Flag(name: .long, help: "Remove everything.")
    var all = false

    @Option(
        name: .long,
        help: ArgumentHelp("Remove this name and all below it.", valueName: "name")
    )
    var tree: String?

    @Flag(name: .long, help: "Remove entries without records.")
    var negative = false

    @Flag(name: .long, help: "Remove entries whose time is over.")
    var stale = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Remove what a vendor or an upstream said, or all of them (vendor, upstream).",
            valueName: "source"
        ),
        completion: .custom { _, _, _ in Completions.flushedSources }
    )
    var source: String?

    @Flag(name: .long, help: "Mark entries stale instead of removing them.")
    var soft = false

    /// What the arguments mean; nil unless they mean exactly one thing.
    var scope: FlushRequest.Scope? {
        var request = FlushRequest(.all)
        request.all = all
        request.name = name
        request.type = type
        request.tree = tree
        request.negative = negative
        request.stale = stale
        request.source = source
        return try? request.scope()
    }

    func validate() throws {
        guard scope != nil else {
            throw ValidationError(
                "Give exactly one of NAME [TYPE], --tree, --negative, --stale, --source and --all."
            )
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        guard let scope else { throw Failure(message: "nothing to remove", status: .usage) }
        let reply = try client.call(.flush, FlushRequest(scope, soft: soft ? true : nil))
        try show(reply, as: FlushReply.self) { reply, _ in
            reply.marked.map { "marked \(Units.count($0, "entry", "entries")) stale\n" }
                ?? "removed \(Units.count(reply.removed, "entry", "entries"))\n"
        }
        return .ok
    }
}
