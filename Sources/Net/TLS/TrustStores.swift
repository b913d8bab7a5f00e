// SPDX-License-Identifier: Apache-2.0

/// Cache of trusted certificates by source.
///
/// A worker thread parses changed files; meanwhile connections use the previous certificates.
@ServiceLoop
package final class TrustStores {
    package static let shared = TrustStores()

    package enum Notice: Sendable {
        case reloaded(source: String)

        /// The previous certificates remain in use.
        case failed(source: String, TLSError)
    }

    package var observer: (@ServiceLoop (Notice) -> Void)?

    private struct Entry {
        var store: TrustStore
        var version: [FileVersion?]
        var checkedAt: Instant
        var isLoading = false

        var loads = 1
    }

    private var entries: [TrustSource: Entry] = [:]

    private static let checkInterval: Duration = .seconds(1)

    private nonisolated static let system = Result { () throws(TLSError) in
        let version = TrustSource.system.version
        return (store: try TrustStore(.system), version: version)
    }

    private init() {}

    /// Parses the system's certificates, which takes 20 ms; for a worker thread.
    package nonisolated static func prepare() { _ = system }

    /// Returns the store of `source`; throws if its certificates were never readable.
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

    func loads(of source: TrustSource) -> Int { entries[source]?.loads ?? 0 }

    private func reload(_ source: TrustSource, _ version: [FileVersion?]) {
        entries[source]?.isLoading = true
        // After a failure, the next attempt waits for another change of the files.
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
    fileprivate var text: String {
        switch self {
        case .file(let path): path
        case .system: files.first ?? directories.first ?? "the system"
        }
    }
}
