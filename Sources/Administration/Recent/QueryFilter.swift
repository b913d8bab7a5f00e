// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSWire
internal import Frontend
internal import Net

struct QueryFilter: Sendable {
    private var name: Name?
    private var type: RecordType?
    private var source: String?
    private var rcode: String?
    private var client: IPAddress?
    private var slower: UInt32?
    init() {}

    /// - Parameter names: valid sources in addition to ``QuerySource``.
    /// - Throws: `invalidArgument` for invalid or unknown values.
    init(_ request: WatchRequest, names: [String]) throws(MethodError) {
        if let text = request.name { name = try ControlHandler.name(text, "name") }
        if let text = request.type { type = try ControlHandler.type(text) }
        if let text = request.client {
            guard let client = IPAddress(text) else {
                throw .invalidArgument(argument: "client", reason: "not an IP address")
            }
            self.client = client
        }
        if let milliseconds = request.slowerMs {
            guard (0...60_000).contains(milliseconds), request.slowerUs == nil else {
                throw .invalidArgument(
                    argument: "slower-ms",
                    reason: "must be 0 to 60000, and cannot be combined with slower-us"
                )
            }
            slower = UInt32(milliseconds * 1000)
        }
        if let microseconds = request.slowerUs {
            guard (0...60_000_000).contains(microseconds) else {
                throw .invalidArgument(argument: "slower-us", reason: "must be 0 to 60000000")
            }
            slower = UInt32(microseconds)
        }
        if let count = request.count, !(1...1_000_000).contains(count) {
            throw .invalidArgument(argument: "count", reason: "must be 1 to 1000000")
        }
        let sources = QuerySource.allCases.filter { $0 != .refused && $0 != .invalid }
        source = try Self.word(
            request.source,
            "source",
            among: sources.map { "\($0)" } + names,
            accepts: { _ in false }
        )
        rcode = try Self.word(
            request.rcode?.lowercased(),
            "rcode",
            among: QueryOutcome.allCases.filter { $0 != .other }.map(\.name),
            accepts: Self.isRCode
        )
    }

    private static func word(
        _ word: String?,
        _ argument: String,
        among words: [String],
        accepts: (String) -> Bool
    ) throws(MethodError) -> String? {
        guard let word, !words.contains(word), !accepts(word) else { return word }
        let hint =
            DidYouMean.hint(for: word, among: words) ?? "valid: \(words.joined(separator: ", "))"
        throw .invalidArgument(
            argument: argument,
            reason: "unknown value `\(word.shortened)`; \(hint)"
        )
    }

    private static func isRCode(_ word: String) -> Bool {
        (UInt16(0)...23).contains { "\(RCode(rawValue: $0))".lowercased() == word }
    }

    func passes(_ record: QueryRecord) -> Bool {
        (type.map { $0.rawValue == record.type } ?? true)
            && (slower.map { record.microseconds > $0 } ?? true)
            && (client.map { $0 == record.client.unmapped } ?? true)
    }

    func passes(_ name: Name) -> Bool { self.name.map { name.isEqualOrBelow($0) } ?? true }

    func passes(_ event: QueryEvent) -> Bool {
        (rcode.map { $0 == event.rcode } ?? true)
            && (source.map { source in
                event.source == source || event.server?.hasPrefix(source + "/") ?? false
            } ?? true)
    }
}
