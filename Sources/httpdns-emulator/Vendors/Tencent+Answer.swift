// SPDX-License-Identifier: Apache-2.0

extension Tencent {
    /// Maximum size of a batch's answer, before encryption (Tencent Cloud document 379/54976).
    static let answerOctets = 8 * 1024

    /// Returns the answer before encryption.
    ///
    /// - An unregistered name has no line.
    /// - A family without addresses has the form `manner.missingFamily`.
    /// - If the question has one name and one family, and no address matches, the answer is empty.
    ///   Exception: with `question.saysName`, the answer has a line that begins with the name.
    /// - Lines of a batch beyond `answerOctets` are omitted.
    func answer(_ question: Question, _ zone: Zone, _ distortion: Distortion) -> String {
        let isBatch = question.keys.count > 1
        let client = question.saysClient ? "|" + question.client : ""
        var lines: [String] = []
        var octets = 0
        for name in question.keys where zone.isRegistered(name) {
            var line = addresses(of: name, question, zone, distortion)
            if isBatch || question.saysName {
                line = "\(distortion.wrongName ?? name).:" + line
            } else if line == none(question) && question.type != .both {
                return ""
            }
            octets += line.utf8.count + client.utf8.count + 1
            if isBatch, octets > Self.answerOctets { break }
            lines.append(line)
        }
        guard !lines.isEmpty else { return "" }
        return switch manner.clientLines {
        case .every: lines.map { $0 + client }.joined(separator: "\n")
        case .last: lines.joined(separator: "\n") + client
        }
    }

    private func addresses(
        of name: String,
        _ question: Question,
        _ zone: Zone,
        _ distortion: Distortion
    ) -> String {
        let client = Address(question.client)
        func text(_ family: Family) -> String {
            let answer = zone.answer(name, family, for: client)
            guard !answer.addresses.isEmpty else { return none(question) }
            let addresses = distortion.addresses(answer, family)
            let ttl = question.saysTTL ? "," + (distortion.ttl ?? String(answer.ttl)) : ""
            return addresses.joined(separator: ";") + ttl
        }
        return switch question.type {
        case .a: text(.v4)
        case .aaaa: text(.v6)
        case .both: text(.v4) + "-" + text(.v6)
        }
    }

    private func none(_ question: Question) -> String {
        switch manner.missingFamily {
        case .zero: "0"
        case .empty: ""
        case .zeroTTL: question.saysTTL ? "0,0" : "0"
        case .emptyTTL: question.saysTTL ? ",0" : ""
        }
    }
}
