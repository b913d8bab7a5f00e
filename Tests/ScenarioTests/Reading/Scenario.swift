// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Parsed scenario file: settings, simulated servers, and steps.
struct Scenario: Sendable {
    var file: String

    /// The promise to users: the comment at the start of the file.
    var overview: [String] = []

    /// The settings, preceded by empty lines so that line numbers match the file.
    var settings = ""

    /// The words after `SCENARIO_BEGIN`.
    var title = ""

    /// Replies of the simulated servers, by range of steps.
    var ranges: [Range] = []

    var steps: [Step] = []
}

/// Position in a scenario file.
struct Place: Sendable, Hashable, CustomStringConvertible {
    var file: String
    var line: Int

    var description: String { "\(file):\(line)" }
}

/// Error in a scenario file, or a failed check.
struct ScenarioError: Error, CustomStringConvertible {
    var place: Place
    var message: String

    var description: String { "\(place): \(message)" }
}

// MARK: - Simulated servers

extension Scenario {
    /// Replies of a simulated server during some steps.
    struct Range: Sendable {
        var place: Place
        var steps: ClosedRange<Int>
        var peer: Peer
        var entries: [Entry]
    }

    /// A simulated server.
    enum Peer: Sendable, Hashable {
        /// An upstream, by its address in the settings.
        case upstream(String)

        /// A server of a vendor, by the vendor's name in the settings; without address, all its
        /// servers.
        case vendor(String, server: String?)

        /// A server at an address in answers, with the time until it accepts; nil if it never
        /// accepts.
        case server(String, port: UInt16, accepts: Duration?)
    }
}

// MARK: - Steps

extension Scenario {
    struct Step: Sendable {
        var place: Place
        var number: Int
        var action: Action
    }

    enum Action: Sendable {
        case query(Entry)

        /// Compares the answer to the query of a step, or to the first open query that matches.
        case checkAnswer(Entry, of: Int?)

        /// Checks that the query of a step is not answered yet.
        case checkNoAnswer(of: Int)

        /// Compares the next message to an upstream that was not compared yet.
        case checkOutQuery(Entry)

        /// Compares everything sent since the last such check.
        case checkAsked([String])

        /// Compares all cached entries of a name.
        case checkCached(Name, [String])

        /// Compares the output of `explain`.
        case checkExplained(ExplainRequest, [String])

        /// Compares the number of billable calls so far, of all vendors or of one.
        case checkBilled(vendor: String?, Int)

        case timePasses(Duration)

        /// Advances the time until the next timeout.
        case timeout

        case nothing
        case networkChange

        case hosts([String])
        case flush(FlushRequest.Scope, isSoft: Bool)
        case pause(vendor: String)
        case resume(vendor: String)
    }
}

// MARK: - Messages

/// A message that is sent, expected or matched.
struct Entry: Sendable {
    var place: Place

    /// Parts that must be equal, to answer a query or to pass a check.
    var match: Set<Matching> = []

    /// Parts that an upstream copies from the query.
    var adjust: Set<Adjusting> = []

    var flags: UInt16 = 0
    var rcode = RCode.noError
    var dnssecOK = false

    /// The client's UDP payload size; nil without EDNS.
    var payloadSize: UInt16?

    var extendedErrors: [UInt16] = []

    /// True if a client or an upstream uses TCP.
    var isTCP = false

    /// Expected length in octets of a message to an upstream.
    var octets: Int?

    /// Latency of the answer.
    var delay: Duration?

    /// Expected time between query and answer, exactly or at most.
    var after: Duration?
    var within: Duration?

    /// Fault instead of an answer.
    var fault: Misdeed?

    var question: Question?
    var answers: [Record] = []
    var authorities: [Record] = []
    var additionals: [Record] = []
}

/// Parts of two messages that can be compared.
enum Matching: String, Sendable, CaseIterable {
    case opcode, qname, qtype, rcode, flags, question, answer, authority, additional, ttl, order
    case ede
    case `do` = "DO"
    case cd = "CD"
    case udp = "UDP"
    case tcp = "TCP"

    /// Meaning of `all`.
    static let all: Set<Matching> = [
        .opcode, .question, .rcode, .flags, .answer, .authority, .additional, .ede,
    ]
}

/// Parts that an upstream's answer can copy from the query.
enum Adjusting: String, Sendable, CaseIterable {
    case copyID = "copy_id"
    case copyQuery = "copy_query"
}

/// Faults of a simulated server.
enum Misdeed: Sendable, Hashable {
    case silent

    /// Silent on connections opened before the network change.
    case silentOnOldConnection

    /// Refuses connections.
    case unreachable

    case badCertificate

    /// Closes the connection during the reply.
    case breaksOff
    case status(Int, retryAfter: Int?)

    /// Sends a malformed answer.
    case says(String)
    case otherKey
    case otherName
    case clockAhead(seconds: Int)
}
