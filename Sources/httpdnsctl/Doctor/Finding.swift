// SPDX-License-Identifier: Apache-2.0

struct Finding: Encodable, Equatable, Sendable {
    var check: String
    var state: State
    var what: String
    var fix: String?

    enum State: String, Encodable, Sendable {
        case ok
        case warning
        case failure
        case skipped
    }
}

struct Check: Sendable {
    let name: String
    private let look: @Sendable (MachineFacts) -> [Verdict]

    struct Verdict: Equatable, Sendable {
        var state: Finding.State
        var what: String
        var fix: String?
        static func ok(_ what: String) -> Verdict { Verdict(state: .ok, what: what) }

        static func warning(_ what: String, fix: String) -> Verdict {
            Verdict(state: .warning, what: what, fix: fix)
        }

        static func failure(_ what: String, fix: String) -> Verdict {
            Verdict(state: .failure, what: what, fix: fix)
        }

        static func skipped(_ why: String) -> Verdict { Verdict(state: .skipped, what: why) }
    }

    init(_ name: String, _ look: @escaping @Sendable (MachineFacts) -> [Verdict]) {
        self.name = name
        self.look = look
    }

    func findings(_ facts: MachineFacts) -> [Finding] {
        look(facts).map { Finding(check: name, state: $0.state, what: $0.what, fix: $0.fix) }
    }

    /// All checks, in the order of the report.
    static let all: [Check] = [
        unit, daemon, version, controlSocket, settings, secrets, descriptors, kernel, port, answers,
        resolvConf, setup, nsswitch, environment, proxy, nameCache, getaddrinfo, containers,
        vendors, clientAddress, fleet, upstreams, clock, certificates, interception,
    ]

    private static let ofFiles: Set = [
        secrets.name, resolvConf.name, setup.name, nsswitch.name, containers.name,
        certificates.name, proxy.name,
    ]

    static func examine(_ facts: MachineFacts) -> [Finding] {
        all.filter { facts.isLive || ofFiles.contains($0.name) }
            .flatMap { $0.findings(facts) }
    }
}

extension [Check.Verdict] {
    static func ok(_ what: String) -> Self { [.ok(what)] }
    static func warning(_ what: String, fix: String) -> Self { [.warning(what, fix: fix)] }
    static func failure(_ what: String, fix: String) -> Self { [.failure(what, fix: fix)] }
    static func skipped(_ why: String) -> Self { [.skipped(why)] }
    mutating func ok(_ what: String) { append(.ok(what)) }
    mutating func warning(_ what: String, fix: String) { append(.warning(what, fix: fix)) }
    mutating func failure(_ what: String, fix: String) { append(.failure(what, fix: fix)) }
}
