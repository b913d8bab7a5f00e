// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Decides when a further connection is opened while a new connection to a server stays silent.
///
/// A load balancer can pass some connections to a dead server.
struct OpeningPatience {
    /// Usual time to open a connection; nil before the first reply.
    private(set) var usual: Duration?

    /// Number of connections that were opened since the latest reply, because others stayed silent.
    private var silentOpenings = 0

    /// Time after which a connection that is not established counts as silent.
    var time: Duration {
        guard let usual else { return UpstreamLimits.fairWait }
        let wait = UpstreamLimits.openingWait * (1 << min(silentOpenings, 3))
        return max(
            min(usual * 2, UpstreamLimits.connect / 2),
            min(wait, UpstreamLimits.fairWait)
        )
    }

    /// Records a reply, and the time in which its connection opened, if known.
    ///
    /// Above `openingWait`, each reply at most doubles the usual time: `time` includes the wait for
    /// the first reply, and a client can query a slow name.
    mutating func replied(_ time: Duration?) {
        silentOpenings = 0
        guard let time else { return }
        let most = usual.map { max($0 * 2, UpstreamLimits.openingWait) }
        usual = min(time, most ?? UpstreamLimits.fairWait)
    }

    mutating func openedAnother() { silentOpenings += 1 }
}
