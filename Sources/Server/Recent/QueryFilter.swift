// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSWire
internal import Net

/// Which queries somebody who watches wants to see.
struct QueryFilter: Sendable {
    private var name: Name?
    private var type: RecordType?
    private var source: String?
    private var rcode: String?
    private var client: IPAddress?
    private var slower: UInt32?

    /// Lets all pass.
    init() {}

    /// What a client of the control socket asks for.
    ///
    /// - Throws: `invalidArgument`.
    init(_ request: WatchRequest) throws(MethodError) {
        do throws(NameTextError) {
            name = try request.name.map { text throws(NameTextError) in try Name(text) }
        } catch {
            throw .invalidArgument(argument: "name", reason: "\(error)")
        }
        if let text = request.type {
            guard let type = RecordType(text) else {
                throw .invalidArgument(
                    argument: "type",
                    reason: "no record type has this name; try A or TYPE65"
                )
            }
            self.type = type
        }
        if let text = request.client {
            guard let client = IPAddress(text) else {
                throw .invalidArgument(argument: "client", reason: "this is no IP address")
            }
            self.client = client
        }
        if let milliseconds = request.slowerMs {
            guard (0...60_000).contains(milliseconds) else {
                throw .invalidArgument(argument: "slower-ms", reason: "must be 0 to 60000")
            }
            slower = UInt32(milliseconds * 1000)
        }
        if let count = request.count, !(1...1_000_000).contains(count) {
            throw .invalidArgument(argument: "count", reason: "must be 1 to 1000000")
        }
        source = request.source
        rcode = request.rcode?.lowercased()
    }

    /// Whether a record passes whose text has not been made yet.
    func passes(_ record: QueryRecord) -> Bool {
        (type.map { $0.rawValue == record.type } ?? true)
            && (slower.map { record.microseconds > $0 } ?? true)
            && (client.map { $0 == record.client.unmapped } ?? true)
    }

    /// Whether a query of this name passes.
    func passes(_ name: Name) -> Bool { self.name.map { name.isEqualOrBelow($0) } ?? true }

    /// Whether what is told of a query passes.
    func passes(_ event: QueryEvent) -> Bool {
        (rcode.map { $0 == event.rcode } ?? true)
            && (source.map { source in
                event.source == source || event.server?.hasPrefix(source + "/") ?? false
            } ?? true)
    }
}
