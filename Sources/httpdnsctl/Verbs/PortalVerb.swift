// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct PortalVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "portal",
        abstract: "Use the network's DNS servers for a while, to log in to the network.",
        discussion: """
            A captive portal, such as that of a hotel, redirects all names to its login page until \
            you log in. This command sends names to the DNS servers of the network for a limited \
            time, and does not use the cache. Exceptions are names in `hosts`, special names, \
            names in routing domains of links, and names of routes with `fallback: none`. The \
            daemon does not store answers from this time.

            EXAMPLES
              httpdnsctl portal
              httpdnsctl portal --for 10m
              httpdnsctl portal --off
            """
    )

    @OptionGroup var options: Options

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Duration, 1s to 30m; by default 3m.", valueName: "duration")
    )
    var time: String?

    @Flag(name: .long, help: "End the captive portal mode now.")
    var off = false

    func validate() throws {
        if off, time != nil { throw ValidationError("--for and --off cannot be combined") }
        if let time, Self.seconds(time) == nil {
            throw ValidationError("--for: `\(time)` is not a duration from 1s to 30m, such as 3m")
        }
    }

    static func seconds(_ text: String) -> Int? {
        let units = ["s": 1, "m": 60]
        let unit = text.last.flatMap { units[String($0)] }
        let digits = unit == nil ? Substring(text) : text.dropLast()
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits),
            case let (seconds, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1),
            !isTooLarge, PortalRequest.seconds.range.contains(seconds)
        else { return nil }
        return seconds
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let request = PortalRequest(forSeconds: time.flatMap(Self.seconds), off: off ? true : nil)
        let reply = try client.call(.portal, request)
        try show(reply, as: PortalReply.self) { reply, _ in
            guard reply.active else { return "captive portal mode: off\n" }
            let servers = reply.servers.map(printable).joined(separator: ", ")
            return
                "captive portal mode: on for \(Units.seconds(reply.seconds ?? 0)); nearly all "
                + "queries go to \(servers)\n"
        }
        return .ok
    }
}
