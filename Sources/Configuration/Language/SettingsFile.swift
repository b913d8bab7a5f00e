// SPDX-License-Identifier: Apache-2.0
import Glibc
internal import Net

struct SettingsFile: Sendable {
    let name: String

    private let content: Result<[UInt8], Unreadable>

    /// True if the file is not read, because its name ends in .yml or .conf instead of .yaml.
    private(set) var isMisnamed = false

    init(name: String, octets: [UInt8]) {
        self.name = name
        content = .success(octets)
    }

    /// Reads a file; the size limit applies to this file plus the `earlier` octets of other files.
    init(reading path: String, after earlier: Int = 0) {
        name = path
        do throws(FileError) {
            let file = try RegularFile(path)
            content = .success(try file.read(atMost: YAMLReader.maximumOctets - earlier))
        } catch {
            content = .failure(Unreadable(error, path, isFirst: earlier == 0))
        }
    }

    private init(misnamed path: String) {
        self.init(name: path, octets: [])
        isMisnamed = true
    }

    private init(directory: String, failure: FileError) {
        name = directory
        content = .failure(Unreadable(reason: "the directory \(failure.reason)"))
    }

    private init(danglingLink directory: String) {
        name = directory
        let hint =
            "create the directory, for example by mounting its file system, or remove the link"
        content = .failure(
            Unreadable(reason: "the link points to a missing directory", hint: hint)
        )
    }

    fileprivate struct Unreadable: Error {
        var reason: String
        var hint: String?
    }

    var size: Int {
        switch content {
        case .success(let octets): octets.count
        case .failure: 0
        }
    }

    /// Parses the file; if the read failed, the result has the read error, without a line.
    func text(_ index: Int, take: YAMLReader.Taker) -> YAMLReader {
        switch content {
        case .success(let octets): YAMLReader(octets, file: index, take: take)
        case .failure(let error):
            YAMLReader(
                complaint: YAMLComplaint(
                    place: YAMLPlace(file: index, line: 0, column: 0),
                    message: error.reason,
                    hint: error.hint
                )
            )
        }
    }
}

// MARK: - Drop-ins

extension SettingsFile {
    static let directorySuffix = ".d"

    static let suffix = ".yaml"

    private static let wrongSuffixes = [".yml", ".conf"]

    /// Returns the drop-ins of `file`, including misnamed files, in byte order of their names.
    static func dropIns(of file: String, after earlier: Int) -> [SettingsFile] {
        let directory = file + directorySuffix
        let names: [String]
        do throws(FileError) {
            names = try Self.names(in: directory, endingIn: [suffix] + wrongSuffixes)
        } catch {
            guard error == .system(ENOENT) else {
                return [SettingsFile(directory: directory, failure: error)]
            }
            return isLink(directory) ? [SettingsFile(danglingLink: directory)] : []
        }
        var read = earlier
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { name in
            guard name.hasSuffix(suffix) else {
                return SettingsFile(misnamed: "\(directory)/\(name)")
            }
            let file = SettingsFile(reading: "\(directory)/\(name)", after: read)
            read += file.size
            return file
        }
    }

    private static func isLink(_ path: String) -> Bool {
        var octet: CChar = 0
        // SAFETY: readlink(2) reads a C string that lives during the call, and writes one octet.
        return unsafe readlink(path, &octet, 1) >= 0
    }

    static func names(
        in directory: String,
        endingIn suffixes: [String]
    ) throws(FileError) -> [String] {
        // SAFETY: opendir(3) returns a stream, which is closed below, or nil. An entry is copied
        // before the next readdir(3), and its name ends with NUL.
        guard let stream = unsafe opendir(directory) else { throw .system(errno) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw .system(errno) }
                return names
            }
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { octets in
                unsafe String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard suffixes.contains(where: name.hasSuffix), !name.hasPrefix(".") else { continue }
            names.append(name)
            guard names.count <= SettingsLimits.dropIns else {
                throw .tooMany(limit: SettingsLimits.dropIns)
            }
        }
    }
}

extension SettingsFile.Unreadable {
    fileprivate init(_ error: FileError, _ path: String, isFirst: Bool) {
        switch error {
        case .tooLong where !isFirst:
            self.init(
                reason: "the settings files are longer than \(YAMLReader.maximumOctets >> 20) MiB "
                    + "together",
                hint: "write each route on one line, and cover more names with one pattern"
            )
        case .system(EACCES):
            let closed = Self.closedDirectory(of: path)
            let command = closed.map { "chmod 755 \($0)" } ?? "chmod 644 \(path)"
            self.init(reason: "the file \(error.reason)", hint: "run `\(command)` as root")
        default: self.init(reason: "the file \(error.reason)")
        }
    }
    private static func closedDirectory(of path: String) -> String? {
        path.indices.lazy.filter { path[$0] == "/" && $0 != path.startIndex }
            .map { String(path[..<$0]) }
            // SAFETY: access(2) reads a C string that lives during the call.
            .first { unsafe access($0, X_OK) != 0 }
    }
}
