// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Asks one vendor: chooses the server, keeps the deadlines, fails over and counts.
@ServiceLoop
package final class VendorClient {
    /// What an operator can set for every kind of vendor.
    package struct Settings: Sendable, Hashable {
        /// The longest wait for one server.
        package var timeout: Duration = .seconds(2)

        /// Failures in a row of the current server that make the next one current.
        package var retriesBeforeSwitch = 3

        /// The address to answer for, instead of the one the vendor sees.
        package var clientSubnet: IPAddress?

        /// File of PEM certificates to trust instead of the system's store.
        package var certificateFile: String?

        /// The versions of HTTP that may be spoken.
        package var version: HTTPVersion = .automatic

        package init() {}
    }

    /// Where time comes from.
    package struct Clocks: Sendable {
        /// The monotonic clock, of deadlines and durations.
        package var now: @Sendable () -> ContinuousClock.Instant

        /// Seconds since 1970, for signatures.
        package var wallSeconds: @Sendable () -> Int64

        package init(
            now: @escaping @Sendable () -> ContinuousClock.Instant,
            wallSeconds: @escaping @Sendable () -> Int64
        ) {
            self.now = now
            self.wallSeconds = wallSeconds
        }
    }

    /// The operator's name for this vendor.
    package nonisolated let name: String

    /// The facts of the vendor's API.
    package nonisolated let facts: VendorFacts

    private let vendor: any Vendor
    private let settings: Settings
    private let transport: any HTTPTransport
    private let clocks: Clocks
    private let entropy: Entropy

    /// Which server is asked.
    private var pool: EndpointPool

    /// How long the replies of each server took.
    private let latencies: [LatencyHistogram]

    /// The counters, except which server is current and how quick each is.
    private var counters: VendorStatistics

    /// Makes a client; nothing is sent yet.
    ///
    /// - Precondition: there is at least one server.
    package nonisolated init(
        name: String,
        vendor: any Vendor,
        servers: [SocketAddress],
        settings: Settings,
        transport: any HTTPTransport,
        clocks: Clocks,
        entropy: Entropy = .system
    ) {
        self.name = name
        self.vendor = vendor
        facts = vendor.facts
        self.settings = settings
        self.transport = transport
        self.clocks = clocks
        self.entropy = entropy
        pool = EndpointPool(
            servers: servers,
            failuresBeforeSwitch: settings.retriesBeforeSwitch
        )
        counters = VendorStatistics(servers: servers)
        latencies = servers.map { _ in LatencyHistogram() }
    }

    /// The counters up to now.
    package var statistics: VendorStatistics {
        var statistics = counters
        statistics.servers[pool.current].isCurrent = true
        for (index, latency) in latencies.enumerated() {
            statistics.servers[index].medianLatency = latency.median
        }
        return statistics
    }
}

// MARK: - Asking

extension VendorClient {
    /// Asks for the addresses of `name`.
    ///
    /// A vendor that can is asked for both families, whatever is wanted: the other one is for
    /// free, and the next question.  A failed server is followed by the next one at once, until
    /// each was tried or `deadline` is reached; only a refused account ends the call, as all
    /// servers refuse alike.
    ///
    /// - Throws: `VendorFailure`; its reason is `.transport(.cancelled)` if the task was cancelled.
    package func lookUp(
        _ name: Name,
        families: Families,
        deadline: ContinuousClock.Instant
    ) async throws(VendorFailure) -> VendorReply {
        let lookup = Lookup(
            names: [name],
            families: facts.pairsFamilies ? .both : families,
            clientSubnet: settings.clientSubnet
        )
        let start = clocks.now()
        counters.calls += 1

        var failed: [FailedTry] = []
        var course = pool.begin()
        while let server = pool.next(in: &course) {
            let tryStart = clocks.now()
            guard tryStart < deadline else { break }
            do throws(VendorError) {
                let (answer, reply) = try await ask(
                    server,
                    for: lookup,
                    deadline: min(deadline, tryStart + settings.timeout)
                )
                noteAnswer(answer)
                return VendorReply(
                    answer: answer,
                    server: pool.address(at: server),
                    duration: clocks.now() - start,
                    connectionReused: reply.connectionReused,
                    failedTries: failed
                )
            } catch {
                failed.append(
                    FailedTry(
                        server: pool.address(at: server),
                        error: error,
                        duration: clocks.now() - tryStart
                    )
                )
                guard error.verdict == .serverFailed else { break }
            }
        }

        let reason = failed.last?.error ?? .outOfTime
        if reason == .transport(.cancelled) {
            counters.cancelled += 1
        } else {
            counters.failures += 1
        }
        throw VendorFailure(reason: reason, tries: failed)
    }

    /// Sends one request to one server and counts what becomes of it.
    private func ask(
        _ server: Int,
        for lookup: Lookup,
        deadline: ContinuousClock.Instant
    ) async throws(VendorError) -> (VendorAnswer, HTTPReply) {
        var request: HTTPRequest
        do throws(VendorError) {
            request = try vendor.request(
                for: lookup,
                at: pool.address(at: server),
                now: clocks.wallSeconds(),
                entropy: entropy
            )
        } catch {
            counters.failuresByKind[error.kind, default: 0] += 1
            throw error
        }
        request.certificateFile = settings.certificateFile
        request.version = settings.version

        counters.tries += 1
        counters.servers[server].tries += 1
        let wait = deadline - clocks.now()
        do throws(VendorError) {
            let reply = try await send(request, deadline: deadline)
            latencies[server].note(reply.duration)
            if reply.connectionReused {
                counters.connectionsReused += 1
            } else {
                counters.connectionsOpened += 1
            }
            let answers = try vendor.answers(to: lookup, in: reply)
            noteSuccess(of: server)
            return (answers[0], reply)
        } catch {
            noteFailure(of: server, error, after: wait)
            throw error
        }
    }

    /// Sends `request`, with the transport's errors as ours.
    private func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant
    ) async throws(VendorError) -> HTTPReply {
        do throws(HTTPError) {
            return try await transport.send(request, deadline: deadline)
        } catch {
            throw .transport(error)
        }
    }
}

// MARK: - Counting

extension VendorClient {
    /// Counts a try that brought an answer.
    private func noteSuccess(of server: Int) {
        if facts.isBillable { counters.billable += 1 }
        counters.servers[server].failuresInRow = 0
        pool.succeeded(server)
    }

    /// Counts a try that brought none, and maybe moves on to another server.
    ///
    /// - Parameter wait: how long the server was given.
    private func noteFailure(of server: Int, _ error: VendorError, after wait: Duration) {
        if facts.isBillable, error.mayBeBilled { counters.billable += 1 }
        counters.failuresByKind[error.kind, default: 0] += 1
        // A call that was given up says nothing about the server.
        guard error.verdict != .notTheServer else { return }
        counters.servers[server].failures += 1
        counters.servers[server].failuresInRow += 1
        counters.servers[server].lastError = error
        guard error.verdict == .serverFailed else { return }
        // Nor does a timeout that came because the call was nearly over when the try began.
        if case .transport(.timedOut) = error,
            wait < min(settings.timeout, VendorLimits.fairWait)
        {
            return
        }
        if case .switched = pool.failed(server) { counters.switches += 1 }
    }

    /// Counts what an answer holds.
    private func noteAnswer(_ answer: VendorAnswer) {
        if answer.isEmpty {
            counters.empty += 1
        } else {
            counters.successes += 1
        }
        counters.droppedAddresses += UInt64(answer.dropped)
    }
}
