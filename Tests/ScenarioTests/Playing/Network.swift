// SPDX-License-Identifier: Apache-2.0
import Configuration
import DNSWire
import HTTPDNS
import Net
import TestWorld

/// Simulated network.
///
/// The sections `RANGE_BEGIN` of the scenario define the replies of upstreams and vendors.
@ServiceLoop
final class Network {
    struct Sent {
        var what: String
        var at: Instant

        var query: (message: Message, octets: Int, isTCP: Bool)?
    }

    enum Reply {
        case datagrams([(octets: [UInt8], after: Duration)])
        case fault(Misdeed, after: Duration)
    }

    let scenario: Scenario
    let world: Simulation

    var step: Scenario.Step

    private(set) var journal: [Sent] = []

    private(set) var mistakes: [ScenarioError] = []

    var timeouts = 0

    var stack = NetworkStack.dual

    /// True after the daemon has reset its connections because of a network change.
    fileprivate var hasNewConnections = false

    private let vendors: [(settings: VendorSettings, account: Account)]
    private let upstreams: [UpstreamSettings]

    static let latency = (vendor: Duration.milliseconds(20), upstream: Duration.milliseconds(10))

    init(
        _ scenario: Scenario,
        _ world: Simulation,
        vendors: [(settings: VendorSettings, account: Account)],
        upstreams: [UpstreamSettings]
    ) {
        self.scenario = scenario
        self.world = world
        self.vendors = vendors
        self.upstreams = upstreams
        step = scenario.steps[0]
        world.script = { [unowned self] request in answer(request) }
    }

    private func regret(_ message: String) {
        mistakes.append(ScenarioError(place: step.place, message: message))
    }

    private func entries(_ isPlayed: (Scenario.Peer) -> Bool) -> [Entry]? {
        let ranges = scenario.ranges.filter { range in
            range.steps.contains(step.number) && isPlayed(range.peer)
        }
        return ranges.isEmpty ? nil : ranges.flatMap(\.entries)
    }
}

extension Network {
    private static func seeksLoop(_ question: Question) -> Bool {
        "\(question.name)".lowercased().contains("loop-probe.httpdnsd")
    }

    /// Returns the reply to a query of the daemon itself, such as the health probe `. IN NS`.
    ///
    /// Uses only entries without a question, and entries for this question. A server without such
    /// an entry is healthy.
    private func reply(
        toProbe query: Message,
        at address: String,
        isTCP: Bool
    ) -> Reply {
        let entries = entries { $0 == .upstream(address) } ?? []
        let asked = query.question
        let entry = entries.first { entry in
            (entry.question == nil || entry.question == asked)
                && entry.answers(query, isTCP: isTCP)
        }
        let after = entry?.delay ?? Self.latency.upstream
        if let fault = entry?.fault { return .fault(fault, after: entry?.delay ?? .zero) }
        var message = Message(header: Header(id: query.header.id))
        message.header.isResponse = true
        message.questions = query.questions
        message.rcode = entry?.rcode ?? .noError
        return .datagrams([(message.encoded(), after)])
    }

    func reply(
        of upstream: String,
        at address: String,
        to octets: [UInt8],
        isTCP: Bool
    ) -> Reply {
        guard let query = try? Message(parsing: octets), let question = query.question else {
            regret("\(upstream) got a message that is not a query")
            return .fault(.silent, after: .zero)
        }
        guard !Self.seeksLoop(question) else { return .fault(.silent, after: .zero) }
        let name = question.name.words
        let entries = entries { $0 == .upstream(address) } ?? []
        let isSample =
            name.hasSuffix(".root-servers.net") && !entries.contains { $0.question == question }
        if isSample || question.name == .root && question.type == .ns {
            return reply(toProbe: query, at: address, isTCP: isTCP)
        }
        let what = "\(upstream) \(name) \(question.type)\(isTCP ? " TCP" : "")"
        journal.append(
            Sent(what: what, at: world.now, query: (query, octets.count, isTCP))
        )
        var datagrams: [(octets: [UInt8], after: Duration)] = []
        for entry in entries where entry.answers(query, isTCP: isTCP) {
            let delay = entry.delay ?? Self.latency.upstream
            if let fault = entry.fault { return .fault(fault, after: entry.delay ?? .zero) }
            datagrams.append((entry.reply(to: query, isTCP: isTCP), delay))
            // An entry without `copy_id` simulates a forged reply with a wrong ID.
            if entry.adjust.contains(.copyID) { return .datagrams(datagrams) }
        }
        if datagrams.isEmpty { regret("no entry answers `\(what)`, which was sent in this step") }
        return .datagrams(datagrams)
    }
}

extension Name {
    /// Text of the name, in lower case and without the final dot.
    fileprivate var words: String {
        let text = "\(self)".lowercased()
        return text.count > 1 && text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}

extension Name {
    /// True for a wildcard name (RFC 1034 §4.3.3).
    fileprivate var isWildcard: Bool { octets.starts(with: [1, 0x2A]) }
}

extension Entry {
    fileprivate func answers(_ query: Message, isTCP: Bool) -> Bool {
        guard let asked = query.question else { return false }
        return match.allSatisfy { matching in
            switch matching {
            case .opcode: query.header.opcode == 0
            case .qname: question?.name == asked.name
            case .qtype: question?.type == asked.type
            case .question: question == asked
            case .do: query.edns?.dnssecOK == dnssecOK
            case .cd: query.header.checkingDisabled == (flags & 0x10 != 0)
            case .udp: !isTCP
            case .tcp: isTCP
            default: true
            }
        }
    }

    fileprivate func reply(to query: Message, isTCP: Bool) -> [UInt8] {
        let id = query.header.id
        var header = Header(id: adjust.contains(.copyID) ? id : id ^ 0x5555, flags: flags)
        header.isResponse = true
        var message = Message(header: header)
        if var edns = query.edns {
            edns.options = extendedErrors.map {
                .extendedError(code: ExtendedError(rawValue: $0), text: "")
            }
            edns.udpPayloadSize = 1232
            message.edns = edns
        }
        message.rcode = rcode
        let copied = adjust.contains(.copyQuery) ? query.question : nil
        message.questions = [copied ?? question ?? query.question].compactMap(\.self)
        message.answers = answers.map { record in
            var record = record
            if question == nil, record.name.isWildcard, let asked = query.question {
                record.name = asked.name
            }
            return record
        }
        message.authorities = authorities
        message.additionals = additionals
        let room = Int(query.edns?.udpPayloadSize ?? 512)
        let whole = message.encoded()
        guard !isTCP, whole.count > room else { return whole }
        message.header.isTruncated = true
        message.answers = []
        message.authorities = []
        message.additionals = []
        return message.encoded()
    }
}

extension Network {
    func accepts(
        _ address: IPAddress,
        port: UInt16,
        deadline: Instant
    ) async -> Bool {
        let peer = "server \(address) \(port)"
        journal.append(Sent(what: peer, at: world.now))
        let delays = scenario.ranges.compactMap { range -> Duration?? in
            guard range.steps.contains(step.number),
                case .server("\(address)", port, let accepts) = range.peer
            else { return nil }
            return .some(accepts)
        }
        if delays.isEmpty { regret("this step probed `\(peer)`, which no range plays") }
        let end = delays.first.flatMap(\.self).map { world.now + $0 } ?? deadline
        do throws(CancellationError) {
            try await world.pause(until: min(end, deadline))
        } catch {
            return false
        }
        return end < deadline
    }
}

extension Network {
    private func answer(_ request: HTTPRequest) -> Simulation.Step {
        let upstream = upstreams.first {
            $0.url.scheme == .https && $0.servers.contains { $0.isReached(at: request.server) }
        }
        if let upstream { return answer(request, as: upstream) }
        let vendor = vendors.first { vendor in
            vendor.settings.servers.contains { $0.isReached(at: request.server) }
        }
        guard let vendor else {
            regret("\(request.server) got a request, but is not in the settings")
            return .silence()
        }
        do {
            return try answer(request, as: vendor.settings.name, vendor.account)
        } catch {
            regret("\(error)")
            return .silence()
        }
    }

    private func answer(_ request: HTTPRequest, as upstream: UpstreamSettings) -> Simulation.Step {
        let reply = reply(
            of: upstream.name,
            at: request.server.host,
            to: request.body ?? [],
            isTCP: true
        )
        switch reply {
        case .datagrams(let datagrams):
            guard let first = datagrams.first else { return .silence() }
            var reply = HTTPReply(status: 200, body: first.octets)
            reply.contentType = "application/dns-message"
            return .reply(reply, after: first.after)
        case .fault(.silent, _): return .silence()
        case .fault(.unreachable, let after): return .fail(.connect("refused"), after: after)
        case .fault(.badCertificate, let after): return .fail(.tls("expired"), after: after)
        case .fault(.status(let status, _), let after):
            return .reply(HTTPReply(status: status, body: []), after: after)
        case .fault(_, let after): return .fail(.broken("reset"), after: after)
        }
    }

    private func answer(
        _ request: HTTPRequest,
        as vendor: String,
        _ account: Account
    ) throws -> Simulation.Step {
        let host = request.server.host
        let names = try account.names(in: request)
        let what = "\(vendor)/\(host) \(try account.summary(of: request))"
        journal.append(Sent(what: what, at: world.now))
        let entries = entries { peer in
            guard case .vendor(vendor, let server) = peer else { return false }
            return server == nil || server == host
        }
        guard let entries else {
            regret("no range plays \(vendor)/\(host), which was called in this step")
            return .silence()
        }
        var zone: [String: Known] = [:]
        var decisive: Entry?
        for name in names {
            let entry = entries.first { entry in
                entry.question.map { $0.name.words == name } ?? true
            }
            guard let entry else { continue }
            decisive = decisive ?? entry
            if entry.rcode != .nxDomain { zone[name] = Known(entry) }
        }
        return try account.step(
            to: request,
            zone,
            decisive?.worldFault(
                onNewConnection: hasNewConnections || request.wantsFreshConnection
            ),
            wallSeconds: world.wallSeconds
        )
    }
}

extension SocketAddress {
    /// True if `address` is this address, or this IPv4 address under a NAT64 prefix of 96 bits.
    fileprivate func isReached(at address: SocketAddress) -> Bool {
        self == address
            || !isIPv6 && address.octets.suffix(4) == octets[...] && port == address.port
    }
}

extension Known {
    fileprivate init(_ entry: Entry) {
        let v4 = entry.answers.filter { $0.type == .a }
        let v6 = entry.answers.filter { $0.type == .aaaa }
        self.init(v4: v4.map { "\($0.data)" }, v6: v6.map { "\($0.data)" })
        if let ttl = v4.first?.ttl { ttl4 = ttl }
        if let ttl = v6.first?.ttl { ttl6 = ttl }
    }
}

extension Entry {
    fileprivate func worldFault(onNewConnection isNew: Bool) -> Fault? {
        let after = delay ?? .zero
        return switch fault {
        case .silentOnOldConnection where isNew: nil
        case nil: delay.map(Fault.slow)
        case .silent: .silent()
        case .silentOnOldConnection: .silent(onOldConnection: true)
        case .unreachable: .broken(.connect("refused"), after: after)
        case .badCertificate: .broken(.tls("expired"), after: after)
        case .breaksOff: .broken(.broken("reset"), after: after)
        case .status(let status, let pause): .status(status, retryAfter: pause.map(String.init))
        case .says(let text): .says(text)
        case .otherKey: .otherKey
        case .otherName: .otherName
        case .clockAhead(let seconds): .ahead(seconds: Int64(seconds))
        }
    }
}

struct Line: HTTPTransport {
    let network: Network

    @ServiceLoop
    func send(
        _ request: HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        network.world.send(request, deadline: deadline) { [network] result in
            if case .failure(.timedOut) = result { network.timeouts += 1 }
            completion(result)
        }
    }

    @ServiceLoop
    func replaceConnections(of provider: String) { network.hasNewConnections = true }

    @ServiceLoop
    func reset(only provider: String?) {
        network.hasNewConnections = true
        network.world.reset(only: provider)
    }
}
