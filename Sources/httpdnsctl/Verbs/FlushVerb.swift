// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct FlushVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "flush",
        abstract: "Remove entries from the cache, or mark them stale.",
        usage: """
            httpdnsctl flush NAME [TYPE]
            httpdnsctl flush --tree NAME
            httpdnsctl flush --negative | --stale | --source SOURCE
            httpdnsctl flush --all
            httpdnsctl flush --fleet (NAME | --tree NAME | --all)
            """,
        discussion: """
            The next query for a removed name is resolved again, which can be a billable call. It \
            is not an error if no entry matches. With --soft, the command only marks the entries \
            stale. The next query refreshes a stale entry; if no server answers, the client gets \
            the stale entry.

            EXAMPLES
              httpdnsctl flush www.example.com         all types of one name
              httpdnsctl flush www.example.com AAAA    only the type AAAA
              httpdnsctl flush --tree example.com      example.com and all names below
              httpdnsctl flush --negative              negative entries (NXDOMAIN, NODATA)
              httpdnsctl flush --source tencent        answers of a vendor or an upstream
              httpdnsctl flush --all --soft            mark all entries stale
              httpdnsctl flush --fleet --tree example.com
                                                       on all machines of the fleet
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Remove this name.")
    var name: String?

    @Argument(help: "Remove only this type, such as A, AAAA or TYPE65.")
    var type: String?

    @Flag(name: .long, help: "Remove all entries.")
    var all = false

    @Option(
        name: .long,
        help: ArgumentHelp("Remove this name and all names below it.", valueName: "name")
    )
    var tree: String?

    @Flag(name: .long, help: "Remove negative entries (NXDOMAIN, NODATA).")
    var negative = false

    @Flag(name: .long, help: "Remove stale entries.")
    var stale = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Remove the answers of this vendor or upstream. `vendor` means all vendors, `upstream` \
            all upstreams.
            """,
            valueName: "source"
        ),
        completion: .custom { _, _, _ in Completions.flushedSources }
    )
    var source: String?

    @Flag(
        name: .long,
        help: "Also flush the other machines of the fleet, and the Redis server."
    )
    var fleet = false

    @Flag(name: .long, help: "Mark entries stale instead of removing them.")
    var soft = false

    var scope: FlushRequest.Scope? {
        var request = FlushRequest(.all)
        request.all = all
        request.name = name
        request.type = type
        request.tree = tree
        request.negative = negative
        request.stale = stale
        request.source = source
        request.fleet = fleet ? true : nil
        return try? request.scope()
    }

    func validate() throws {
        guard scope != nil else {
            throw ValidationError(
                "Give exactly one of NAME [TYPE], --tree, --negative, --stale, --source or --all. "
                    + "With --fleet, give only NAME, --tree or --all."
            )
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        guard let scope else { throw Failure(message: "nothing to remove", status: .usage) }
        let request = FlushRequest(scope, soft: soft ? true : nil, fleet: fleet ? true : nil)
        let reply = try client.call(.flush, request)
        try show(reply, as: FlushReply.self) { reply, _ in
            reply.marked.map { "marked \(Units.count($0, "entry", "entries")) stale\n" }
                ?? "removed \(Units.count(reply.removed, "entry", "entries"))\n"
        }
        return .ok
    }
}
