// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Net

struct Scenario: Sendable {
    var file: String

    var overview: [String] = []

    /// Settings in YAML.
    ///
    /// Empty lines replace the earlier lines of the scenario file, so that the line numbers in
    /// errors are correct.
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
        case upstream(String)

        case vendor(String, server: String?)

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

        case checkAnswer(Entry, of: Int?)

        case checkNoAnswer(of: Int)

        case checkOutQuery(Entry)

        case checkAsked([String])

        case checkCached(Name, [String])

        case checkExplained(ExplainRequest, [String])

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
