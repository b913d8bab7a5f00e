// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS
internal import Net
internal import Upstream

/// Detection of a captive portal: a login page of a network that blocks all other traffic.
///
/// A report of NetworkManager is sufficient for the detection. Without a report, both of these
/// conditions are necessary:
///
/// 1. A request failed, and the failure suggests that a host other than the server replied. If a
///    router has announced a portal, any transport failure meets this condition.
/// 2. Within ``probation`` after this failure, no vendor and no protected upstream answered.
///
/// The detection sends no packets.
@ServiceLoop
final class PortalDetection {
    nonisolated static let probation: Duration = .seconds(5)

    private var isReported = false

    /// Interface on which a router has announced a portal (RFC 8910).
    private var announcement: String?

    private var answersAtFailure: UInt64?

    private var isBlocked = false

    /// False without CA certificates: a rejected server certificate is then no sign of a portal.
    var canVerify = true

    private let clocks: Clocks

    /// Number of answers of vendors and protected upstreams.
    private let answers: @ServiceLoop () -> UInt64
    private let onChange: @ServiceLoop (_ isKnown: Bool) -> Void
    private lazy var check = Alarm(clocks) { [weak self] in self?.checkAnswers() }

    init(
        _ clocks: Clocks,
        answers: @escaping @ServiceLoop () -> UInt64,
        _ onChange: @escaping @ServiceLoop (_ isKnown: Bool) -> Void
    ) {
        self.clocks = clocks
        self.answers = answers
        self.onChange = onChange
    }

    var isKnown: Bool { isReported || isBlocked }

    private func change(_ body: () -> Void) {
        let before = isKnown
        body()
        if isKnown != before { onChange(isKnown) }
    }

    // MARK: - Signs

    func report(_ isPortal: Bool) { change { isReported = isPortal } }

    func announce(_ isRestricted: Bool, on link: String) {
        if isRestricted {
            announcement = link
        } else if announcement == link {
            announcement = nil
        }
    }

    func networkChanged() {
        announcement = nil
        answersAtFailure = nil
        check.set(nil)
        change { isBlocked = false }
    }

    func failed(_ error: VendorError) {
        switch error {
        case .transport(.tls): if canVerify { suspect() }
        case .unreadable, .serverStatus(300...399, code: _),
            .serverStatus(511, code: _):
            suspect()
        case .transport: if announcement != nil { suspect() }
        default: break
        }
    }

    func failed(_ error: UpstreamError) {
        switch error {
        case .untrusted: if canVerify { suspect() }
        case .timedOut, .unreachable, .broken: if announcement != nil { suspect() }
        default: break
        }
    }

    // MARK: - Check

    private func suspect() {
        guard answersAtFailure == nil else { return }
        answersAtFailure = answers()
        check.set(clocks.now() + Self.probation)
    }

    private func checkAnswers() {
        let isBlocked = answers() == answersAtFailure
        if isBlocked {
            check.set(clocks.now() + Self.probation)
        } else {
            answersAtFailure = nil
        }
        change { self.isBlocked = isBlocked }
    }
}
