// SPDX-License-Identifier: Apache-2.0

/// What one check found.
struct Finding: Encodable, Equatable, Sendable {
    /// The name of the check, which scripts may rely on.
    var check: String

    /// Whether it is well.
    var state: State

    /// What was found, in one line.
    var what: String

    /// What to do about it, in one line; nil if nothing needs to be done.
    var fix: String?

    /// Whether something is well.
    enum State: String, Encodable, Sendable {
        case ok
        /// It works, but not as well as it could, or not for long.
        case warning
        /// Programs of this machine do not get what they should.
        case failure
        /// It could not be looked at, or there is nothing to look at.
        case skipped
    }
}

/// A check: a name, and a pure function of what was gathered.
struct Check: Sendable {
    /// Its name, which scripts may rely on.
    let name: String

    /// What it says of a machine.
    private let look: @Sendable (Surroundings) -> [Verdict]

    /// A finding that has not got its name yet.
    struct Verdict: Equatable, Sendable {
        var state: Finding.State
        var what: String
        var fix: String?

        /// All is well.
        static func ok(_ what: String) -> Verdict { Verdict(state: .ok, what: what) }

        /// It works, but.
        static func warning(_ what: String, fix: String) -> Verdict {
            Verdict(state: .warning, what: what, fix: fix)
        }

        /// It does not work.
        static func failure(_ what: String, fix: String) -> Verdict {
            Verdict(state: .failure, what: what, fix: fix)
        }

        /// It could not be looked at.
        static func skipped(_ why: String) -> Verdict { Verdict(state: .skipped, what: why) }
    }

    /// Makes a check that may find several things.
    init(_ name: String, _ look: @escaping @Sendable (Surroundings) -> [Verdict]) {
        self.name = name
        self.look = look
    }

    /// What it says of a machine; nothing if there is nothing to say.
    func findings(_ surroundings: Surroundings) -> [Finding] {
        look(surroundings).map {
            Finding(check: name, state: $0.state, what: $0.what, fix: $0.fix)
        }
    }

    /// All checks, in the order in which one thing rests on another.
    static let all: [Check] = [
        unit, daemon, version, controlSocket, settings, secrets, descriptors, kernel, port, answers,
        resolvConf, setup, nsswitch, environment, nameCache, getaddrinfo, containers, vendors,
        upstreams, clock, certificates, interception,
    ]

    /// Those that need no more than files.
    private static let ofFiles: Set = [
        secrets.name, resolvConf.name, setup.name, nsswitch.name, containers.name,
        certificates.name,
    ]

    /// What all of them say of a machine.
    static func examine(_ surroundings: Surroundings) -> [Finding] {
        all.filter { surroundings.isLive || ofFiles.contains($0.name) }
            .flatMap { $0.findings(surroundings) }
    }
}
