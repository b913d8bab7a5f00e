// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Net

struct Scenario: Sendable {
    var file: String

    var overview: [String] = []

    /// Settings in YAML.
    ///
    /// The text begins with an empty line for each line that precedes the settings in the scenario
    /// file. So line numbers in errors of the settings are line numbers in the scenario file.
    var settings = ""

    var title = ""

    var ranges: [Range] = []

    var steps: [Step] = []
}

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

extension Scenario {
    struct Range: Sendable {
        var place: Place
        var steps: ClosedRange<Int>
        var peer: Peer
        var entries: [Entry]
    }

    enum Peer: Sendable, Hashable {
        /// Upstream with this address in the settings.
        case upstream(String)

        /// One server of a vendor; if `server` is nil, all servers of the vendor.
        case vendor(String, server: String?)

        /// Server at an address in an answer, for connection-time probes.
        ///
        /// The server accepts a connection after the time `accepts`; if `accepts` is nil, the
        /// server accepts no connection.
        case server(String, port: UInt16, accepts: Duration?)
    }
}

extension Scenario {
    struct Step: Sendable {
        var place: Place
        var number: Int
        var action: Action
    }

    enum Action: Sendable {
        case query(Entry)

        /// Waits for the answer to the query of step `of`, and compares this answer.
        ///
        /// If `of` is nil, the step checks the answer to the first query with the entry's question
        /// that no earlier step has checked.
        case checkAnswer(Entry, of: Int?)

        case checkNoAnswer(of: Int)

        /// Compares the first upstream query that no earlier step has compared.
        case checkOutQuery(Entry)

        /// Compares all messages and calls that the daemon sent since the previous `checkAsked`.
        case checkAsked([String])

        case checkCached(Name, [String])

        case checkExplained(ExplainRequest, [String])

        /// Compares the number of billable calls to `vendor`, or to all vendors if `vendor` is nil.
        case checkBilled(vendor: String?, Int)

        case timePasses(Duration)

        case timeout

        case nothing
        case networkChange(NetworkStack?)

        case hosts([String])
        case resolvers([String])
        case portal(seconds: Int?)
        case flush(FlushRequest.Scope, isSoft: Bool)
        case pause(vendor: String)
        case resume(vendor: String)
    }
}

struct Entry: Sendable {
    var place: Place

    /// Parts of a message that must be equal to the same parts of this entry.
    var match: Set<Matching> = []

    var adjust: Set<Adjusting> = []

    var flags: UInt16 = 0
    var rcode = RCode.noError
    var dnssecOK = false

    /// UDP payload size; nil if the message has no EDNS.
    var payloadSize: UInt16?

    var extendedErrors: [UInt16] = []

    var isTCP = false

    var octets: Int?

    var delay: Duration?

    /// Expected time between query and answer: exactly `after`, or at most `within`.
    var after: Duration?
    var within: Duration?

    var fault: Misdeed?

    var question: Question?
    var answers: [Record] = []
    var authorities: [Record] = []
    var additionals: [Record] = []
}

enum Matching: String, Sendable, CaseIterable {
    case opcode, qname, qtype, rcode, flags, question, answer, authority, additional, ttl, order
    case ede
    case `do` = "DO"
    case cd = "CD"
    case udp = "UDP"
    case tcp = "TCP"

    /// Parts that the word `all` selects.
    static let all: Set<Matching> = [
        .opcode, .question, .rcode, .flags, .answer, .authority, .additional, .ede,
    ]
}

enum Adjusting: String, Sendable, CaseIterable {
    case copyID = "copy_id"
    case copyQuery = "copy_query"
}

enum Misdeed: Sendable, Hashable {
    case silent

    /// No reply on connections that were opened before the network change.
    case silentOnOldConnection

    case unreachable

    case badCertificate

    case breaksOff
    case status(Int, retryAfter: Int?)

    case says(String)
    case otherKey
    case otherName
    case clockAhead(seconds: Int)
}
