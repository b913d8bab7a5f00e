// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// A scenario as it stands in its file: settings, who else is there, and what happens.
struct Scenario: Sendable {
    /// The file's name.
    var file: String

    /// What users are promised, in plain words: the comment that the file begins with.
    var overview: [String] = []

    /// The settings, behind as many empty lines as stand before them, so that places are right.
    var settings = ""

    /// The words behind `SCENARIO_BEGIN`.
    var title = ""

    /// Who answers what, and from which step to which.
    var ranges: [Range] = []

    /// What happens, in order.
    var steps: [Step] = []
}

/// Where something stands in a scenario.
struct Place: Sendable, Hashable, CustomStringConvertible {
    var file: String
    var line: Int

    var description: String { "\(file):\(line)" }
}

/// What is wrong with a scenario, or what went otherwise than it says.
struct ScenarioError: Error, CustomStringConvertible {
    var place: Place
    var message: String

    var description: String { "\(place): \(message)" }
}

// MARK: - Who is there

extension Scenario {
    /// Somebody who answers during some steps.
    struct Range: Sendable {
        var place: Place
        var steps: ClosedRange<Int>
        var peer: Peer
        var entries: [Entry]
    }

    /// Somebody who is asked.
    enum Peer: Sendable, Hashable {
        /// An upstream, by the address in the settings.
        case upstream(String)

        /// A server of a vendor, by the name in the settings; without an address, each of them.
        case vendor(String, server: String?)

        /// What an address in answers leads to, and how soon it accepts a connection; nil for never.
        case server(String, port: UInt16, accepts: Duration?)
    }
}

// MARK: - What happens

extension Scenario {
    /// One thing that happens.
    struct Step: Sendable {
        var place: Place
        var number: Int
        var action: Action
    }

    enum Action: Sendable {
        /// A client asks.
        case query(Entry)

        /// The answer to a query is this; to the one of a step, or to the first that fits.
        case checkAnswer(Entry, of: Int?)

        /// The query of a step is not answered yet.
        case checkNoAnswer(of: Int)

        /// The first query that an upstream was sent, of those not looked at, is this.
        case checkOutQuery(Entry)

        /// These, and nobody else, were asked since this was looked at last.
        case checkAsked([String])

        /// The cache has exactly this of a name.
        case checkCached(Name, [String])

        /// This is foretold of a question.
        case checkExplained(ExplainRequest, [String])

        /// So many calls may be on the bill so far: of all vendors, or of one.
        case checkBilled(vendor: String?, Int)

        case timePasses(Duration)

        /// Time passes until somebody has been waited for in vain.
        case timeout

        case nothing
        case networkChange

        /// The hosts files say this from now on.
        case hosts([String])
        case flush(FlushRequest.Scope, isSoft: Bool)
        case pause(vendor: String)
        case resume(vendor: String)
    }
}

// MARK: - Messages

/// A message, as it is sent, expected, or recognised.
struct Entry: Sendable {
    var place: Place

    /// What must be equal, for a query to be answered or an answer to be right.
    var match: Set<Matching> = []

    /// What an upstream takes over from the query.
    var adjust: Set<Adjusting> = []

    /// Flags, in a header's bits.
    var flags: UInt16 = 0
    var rcode = RCode.noError
    var dnssecOK = false

    /// The client's UDP payload size, if it speaks EDNS.
    var payloadSize: UInt16?

    /// The extended errors that are expected.
    var extendedErrors: [UInt16] = []

    /// Whether a client or an upstream uses TCP.
    var isTCP = false

    /// How long a message to an upstream is expected to be.
    var octets: Int?

    /// How long an answer takes.
    var delay: Duration?

    /// How long after the query an answer is expected, exactly or at most.
    var after: Duration?
    var within: Duration?

    /// What is done instead of answering.
    var fault: Misdeed?

    var question: Question?
    var answers: [Record] = []
    var authorities: [Record] = []
    var additionals: [Record] = []
}

/// What of two messages is compared.
enum Matching: String, Sendable, CaseIterable {
    case opcode, qname, qtype, rcode, flags, question, answer, authority, additional, ttl, order
    case ede
    case `do` = "DO"
    case cd = "CD"
    case udp = "UDP"
    case tcp = "TCP"

    /// What `all` stands for.
    static let all: Set<Matching> = [
        .opcode, .question, .rcode, .flags, .answer, .authority, .additional, .ede,
    ]
}

/// What an upstream's answer takes over from the query.
enum Adjusting: String, Sendable, CaseIterable {
    case copyID = "copy_id"
    case copyQuery = "copy_query"
}

/// What somebody does instead of answering as asked.
enum Misdeed: Sendable, Hashable {
    case silent

    /// Silent on connections that are open already.
    case silentOnOldConnection

    /// Nobody listens there.
    case unreachable

    /// Its certificate is not good.
    case badCertificate

    /// Breaks off.
    case breaksOff
    case status(Int, retryAfter: Int?)

    /// Says something that is no answer.
    case says(String)
    case otherKey
    case otherName
    case clockAhead(seconds: Int)
}
