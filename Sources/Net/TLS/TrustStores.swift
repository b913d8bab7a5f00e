// SPDX-License-Identifier: Apache-2.0

/// The trusted certificates of all connections: each source is parsed once, and again when its files
/// change.
///
/// A connection that begins while changed files are parsed, on a thread of their own, trusts what was
/// trusted before.
@ServiceLoop
package final class TrustStores {
    /// The ones of this process.
    package static let shared = TrustStores()

    /// An event for the log.
    package enum Notice: Sendable {
        /// Changed files are in force.
        case reloaded(source: String)

        /// Changed files cannot be used; the certificates of before stay in force.
        case failed(source: String, TLSError)
    }

    /// Called with what happens when files change; the composition root's, which logs.
    package var observer: (@ServiceLoop (Notice) -> Void)?

    private struct Entry {
        var store: TrustStore
        var version: [FileVersion?]
        var checkedAt: ContinuousClock.Instant
        var isLoading = false

        /// How often the files have been parsed.
        var loads = 1
    }

    private var entries: [TrustSource: Entry] = [:]

    /// The shortest time between two looks at the files of a source.
    private static let checkInterval: Duration = .seconds(1)

    /// The system's certificates as the first connection finds them.
    private nonisolated static let system = Result { () throws(TLSError) in
        let version = TrustSource.system.version
        return (store: try TrustStore(.system), version: version)
    }

    private init() {}

    /// Parses the system's certificates, so that the first connection need not: for a thread that may
    /// take some 20 ms.
    package nonisolated static func prepare() { _ = system }

    /// Returns the certificates of `source`.
    ///
    /// - Throws: `TLSError.setup` if they cannot be read, and never could be before.
    func store(for source: TrustSource) throws(TLSError) -> TrustStore {
        let now = Clock.now
        guard let entry = entries[source] else {
            let version = source.version
            let first =
                source == .system ? try Self.system.get() : (try TrustStore(source), version)
            entries[source] = Entry(store: first.0, version: first.1, checkedAt: now)
            return first.0
        }
        guard !entry.isLoading, entry.checkedAt + Self.checkInterval <= now else {
            return entry.store
        }
        entries[source]?.checkedAt = now
        let version = source.version
        if version != entry.version { reload(source, version) }
        return entry.store
    }

    /// How often the files of `source` have been parsed.
    func loads(of source: TrustSource) -> Int { entries[source]?.loads ?? 0 }

    /// Parses the files of `source`, which have changed, and puts them in force.
    private func reload(_ source: TrustSource, _ version: [FileVersion?]) {
        entries[source]?.isLoading = true
        // Not parsed again before the next change, whatever comes of it.
        entries[source]?.version = version
        ServiceLoop.task { [self] in
            let result: Result<TrustStore, TLSError>
            do throws(SocketError) {
                result = try await WorkerThread.run(named: "certificates") {
                    Result { () throws(TLSError) in try TrustStore(source) }
                }
            } catch {
                result = .failure(.socket(error))
            }
            entries[source]?.isLoading = false
            entries[source]?.loads += 1
            switch result {
            case .success(let store):
                entries[source]?.store = store
                observer?(.reloaded(source: source.text))
            case .failure(let error):
                observer?(.failed(source: source.text, error))
            }
        }
    }
}

extension TrustSource {
    /// The source in the log.
    fileprivate var text: String {
        switch self {
        case .file(let path): path
        case .system: files.first ?? directories.first ?? "the system"
        }
    }
}
