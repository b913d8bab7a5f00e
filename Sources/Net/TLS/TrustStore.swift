// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
private import Glibc
private import Locks

/// Trusted certificates of one source; the system's bundle takes 20 ms and 2 MiB of memory.
// SAFETY: owns one reference of the store, freed once, in `deinit`. OpenSSL counts references
// atomically and locks the contents, so any thread may use or release the store.
@safe
final class TrustStore: @unchecked Sendable {
    let raw: OpaquePointer

    /// Reason why the system has no certificates; set before other threads get the store.
    private(set) var fault: TLSError?

    /// Parses the certificates of `source`, on any thread.
    ///
    /// - Throws: `TLSError` if a configured file is unreadable or has no certificate. If the
    ///   system's file has no certificates, sets ``fault`` instead, because the directories can
    ///   have certificates.
    init(_ source: TrustSource) throws(TLSError) {
        OpenSSLErrors.clear()
        guard let made = unsafe X509_STORE_new() else {
            throw .setup(OpenSSLErrors.take() ?? "out of memory")
        }
        unsafe raw = made
        let (files, directories) = (source.files, source.directories)
        for file in files {
            // SAFETY: the text ends with NUL and lives during the call.
            let isLoaded = unsafe X509_STORE_load_file(raw, file) == 1
            if isLoaded { continue }
            // If the file cannot be opened, only `errno` has the reason.
            let reason = OpenSSLErrors.take() ?? "no certificates to trust"
            let isReadable = unsafe access(file, R_OK) == 0
            let fault = TLSError.setup("\(file): \(isReadable ? reason : errorText(errno))")
            guard source == .system else { throw fault }
            self.fault = fault
        }
        // SAFETY: the text ends with NUL and is copied. OpenSSL reads the files when a chain needs
        // them.
        for directory in directories { unsafe X509_STORE_load_path(raw, directory) }
        if files.isEmpty, !directories.contains(where: Self.hasCertificates) {
            fault = .setup("the system has no CA certificates")
        }
        OpenSSLErrors.clear()
    }

    deinit { unsafe X509_STORE_free(raw) }

    private static func hasCertificates(_ directory: String) -> Bool {
        ResolverFiles.entries(directory, limit: mostEntries).contains { name in
            let parts = name.split(separator: ".")
            return parts.count == 2 && parts[0].count == 8 && parts[0].allSatisfy(\.isHexDigit)
        }
    }

    private static let mostEntries = 4096
}

// SAFETY: the texts end with NUL and are copied.
enum TrustSource: Hashable, Sendable {
    /// Certificates of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    case system

    /// File of the setting `ca-file`.
    case file(String)

    init(_ file: String?) { self = file.map { .file($0) } ?? .system }

    var files: [String] {
        switch self {
        case .file(let path): [path]
        case .system: Self.systemFile.map { [$0] } ?? []
        }
    }

    var directories: [String] { self == .system ? Self.systemDirectories : [] }

    var version: [FileVersion?] { (files + directories).map(FileVersion.init) }

    private static var systemFile: String? {
        if let file = environment("SSL_CERT_FILE") { return file }
        return found.withLock { found in
            if found == nil { found = places.first { FileVersion($0) != nil } }
            return found
        }
    }

    /// Path of the first file found; never changed, so that the loss of the file is noticed.
    private static let found = Lock<String?>(nil)

    /// On Debian without the package openssl, the built-in path does not exist.
    private static let places: [String] = {
        let builtIn = unsafe X509_get_default_cert_file().map { unsafe String(cString: $0) }
        return [builtIn, "/etc/ssl/certs/ca-certificates.crt"].compactMap(\.self)
    }()

    private static let systemDirectories: [String] = {
        let builtIn = unsafe X509_get_default_cert_dir().map { unsafe String(cString: $0) }
        return (environment("SSL_CERT_DIR") ?? builtIn ?? "").split(separator: ":").map(String.init)
    }()

    private static func environment(_ name: String) -> String? {
        let text = unsafe getenv(name).map { unsafe String(cString: $0) }
        return text?.isEmpty == false ? text : nil
    }
}

struct FileVersion: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let octets: Int
    private let modified: [Int]

    init?(_ path: String) {
        var status = stat()
        // SAFETY: the text ends with NUL; stat writes one `stat`.
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        octets = Int(status.st_size)
        // Programs can set mtime, but not ctime.
        modified = [
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
            status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
    }
}
