// SPDX-License-Identifier: Apache-2.0
import Testing

struct Dig: Sendable {
    struct Line: Sendable, Equatable {
        let name: String
        let ttl: Int
        let type: String
        let data: String
    }

    let status: String
    let flags: [String]
    let question: String
    let answers: [Line]
    let authorities: [Line]

    let transport: String

    let text: String

    func data(_ type: String) -> [String] {
        answers.filter { $0.type == type }.map(\.data).sorted()
    }

    init(
        port: UInt16,
        _ arguments: [String],
        server: String = "127.0.0.1",
        in namespace: Namespace? = nil
    ) throws {
        let all = ["-r", "@\(server)", "-p", "\(port)", "+tries=1", "+time=6", "+nocookie"]
        var end = try Child("dig", all + arguments, in: namespace).end()
        // dig and the daemon bind sockets with SO_REUSEPORT, so the kernel can assign the daemon's
        // ephemeral port also to dig. Then dig receives its own query, and is run again.
        if end.output.contains("Warning: query response not set") {
            end = try Child("dig", all + arguments, in: namespace).end()
        }
        text = end.output + end.errors
        var status = ""
        var flags: [String] = []
        var question = ""
        var transport = ""
        var sections: [String: [Line]] = [:]
        var section = ""
        for line in end.output.split(separator: "\n") {
            if line.hasPrefix(";; ->>HEADER<<-") {
                let after = line.split(separator: ",").first { $0.contains("status: ") }
                status = after.map { String($0.dropFirst(" status: ".count)) } ?? ""
            } else if line.hasPrefix(";; flags: ") {
                flags = line.dropFirst(10).prefix { $0 != ";" }.split(separator: " ")
                    .map(String.init)
            } else if line.hasPrefix(";; SERVER: ") {
                transport = line.contains("(TCP)") ? "TCP" : "UDP"
            } else if line.hasSuffix(" SECTION:") {
                section = String(line.split(separator: " ")[1])
            } else if section == "QUESTION", line.hasPrefix(";") {
                question = String(line.dropFirst().prefix { $0 != "\t" && $0 != " " })
            } else if !line.hasPrefix(";") {
                let words = line.split(maxSplits: 4, whereSeparator: { $0 == "\t" || $0 == " " })
                guard words.count == 5, let ttl = Int(words[1]) else { continue }
                sections[section, default: []].append(
                    Line(
                        name: String(words[0]),
                        ttl: ttl,
                        type: String(words[3]),
                        data: String(words[4])
                    )
                )
            }
        }
        self.status = status
        self.flags = flags
        self.question = question
        self.transport = transport
        answers = sections["ANSWER"] ?? []
        authorities = sections["AUTHORITY"] ?? []
    }
}
