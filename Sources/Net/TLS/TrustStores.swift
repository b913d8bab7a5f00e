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

        /// The system's file has no certificates, and no previous certificates exist.
        case absent(source: String, TLSError)
    }

    package var observer: (@ServiceLoop (Notice) -> Void)?

    private final class Entry {
        let source: TrustSource

        /// Name of the source in notices.
        ///
        /// The name stays the same if the system's certificate file is created later.
        let text: String

        var store: TrustStore
        var version: [FileVersion?]
        var checkedAt: Instant
        var isLoading = false

        var loads = 1

        init(_ source: TrustSource, _ store: TrustStore, _ version: [FileVersion?], at now: Instant)
        {
            self.source = source
            text = source.text
            self.store = store
            self.version = version
            checkedAt = now
        }
    }

    private var entries: [TrustSource: Entry] = [:]

    /// Entry that the latest call of ``store(for:)`` used.
    ///
    /// If the next call has the same source, it need not calculate a hash.
    private var latest: Entry?

    private static let checkInterval: Duration = .seconds(1)

    private nonisolated static let system = Result { () throws(TLSError) in
        let version = TrustSource.system.version
        return (store: try TrustStore(.system), version: version)
    }

    private init() {}

    /// Takes 20 ms; call this on a worker thread.
    package nonisolated static func prepare() { _ = system }

    /// Returns the reason why `file` is unusable as `ca-file`, or nil.
    package nonisolated static func fault(of file: String) -> String? {
        do throws(TLSError) {
            _ = try TrustStore(.file(file))
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Returns the store of `source`; throws if the certificates were never readable.
    func store(for source: TrustSource) throws(TLSError) -> TrustStore {
        let now = Clock.now
        guard let entry = latest?.source == source ? latest : entries[source] else {
            let version = source.version
            let first =
                source == .system ? try Self.system.get() : (try TrustStore(source), version)
            let entry = Entry(source, first.0, first.1, at: now)
            entries[source] = entry
            latest = entry
            if let fault = first.0.fault { observer?(.absent(source: entry.text, fault)) }
            return first.0
        }
        latest = entry
        guard !entry.isLoading, entry.checkedAt + Self.checkInterval <= now else {
            return entry.store
        }
        entry.checkedAt = now
        let version = source.version
        if version != entry.version { reload(entry, version) }
        return entry.store
    }

    func loads(of source: TrustSource) -> Int { entries[source]?.loads ?? 0 }

    private func reload(_ entry: Entry, _ version: [FileVersion?]) {
        let source = entry.source
        entry.isLoading = true
        entry.version = version
        ServiceLoop.task { [self] in
            let result: Result<TrustStore, TLSError>
            do throws(SocketError) {
                result = try await WorkerThread.run(named: "certificates") {
                    Result { () throws(TLSError) in try TrustStore(source) }
                }
            } catch {
                // No thread could be started; the next check reads the files.
                entry.version = []
                result = .failure(.socket(error))
            }
            entry.isLoading = false
            entry.loads += 1
            switch result {
            case .success(let store):
                if let fault = store.fault {
                    // A lost or damaged file must not replace valid certificates.
                    guard entry.store.fault != nil else {
                        observer?(.failed(source: entry.text, fault))
                        return
                    }
                    observer?(.absent(source: entry.text, fault))
                } else {
                    observer?(.reloaded(source: entry.text))
                }
                entry.store = store
            case .failure(let error):
                observer?(.failed(source: entry.text, error))
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
