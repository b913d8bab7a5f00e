// SPDX-License-Identifier: Apache-2.0
import Glibc

/// One of the files that settings are read from.
struct SettingsFile: Sendable {
    /// The path, as it is built from what was named on the command line.
    let name: String

    /// What stands in it, or why that cannot be known.
    private let content: Result<[UInt8], Unreadable>

    /// A file whose octets are known.
    init(name: String, octets: [UInt8]) {
        self.name = name
        content = .success(octets)
    }

    /// Reads the file at `path`.
    init(reading path: String) {
        name = path
        do throws(FileError) {
            content = .success(try RegularFile(path).read(atMost: YAMLReader.maximumOctets))
        } catch {
            content = .failure(Unreadable(reason: "the file \(error.reason)"))
        }
    }

    /// A directory of drop-ins that cannot be read.
    private init(directory: String, failure: FileError) {
        name = directory
        content = .failure(Unreadable(reason: "the directory \(failure.reason)"))
    }

    /// Why nothing is known of what stands at a path.
    private struct Unreadable: Error {
        var reason: String
    }

    /// What stands in it, or a complaint about the whole of it; `index` is its own among all files.
    func text(_ index: Int) -> YAMLReader {
        switch content {
        case .success(let octets): YAMLReader(octets, file: index)
        case .failure(let error):
            YAMLReader(
                complaint: YAMLComplaint(
                    place: YAMLPlace(file: index, line: 0, column: 0),
                    message: error.reason
                )
            )
        }
    }
}

// MARK: - Drop-ins

extension SettingsFile {
    /// What the directory of drop-ins is called: the file with this behind it.
    static let directorySuffix = ".d"

    /// What drop-ins end with; other files, and hidden ones, are passed over.
    static let suffix = ".yaml"

    /// The files in the directory beside `file`, in the order of the octets of their names.
    ///
    /// No directory is no drop-in.
    static func dropIns(of file: String) -> [SettingsFile] {
        let directory = file + directorySuffix
        let names: [String]
        do throws(FileError) {
            names = try Self.names(in: directory)
        } catch {
            if error == .system(ENOENT) { return [] }
            return [SettingsFile(directory: directory, failure: error)]
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .map { SettingsFile(reading: "\(directory)/\($0)") }
    }

    /// The names of the drop-ins in a directory, in no order.
    private static func names(in directory: String) throws(FileError) -> [String] {
        // SAFETY: opendir(3) gives a stream or nil, which is closed below; an entry is read before the
        // next one is asked for, and its name ends with NUL inside it.
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
            guard name.hasSuffix(suffix), !name.hasPrefix(".") else { continue }
            names.append(name)
            guard names.count <= SettingsLimits.dropIns else {
                throw .tooMany(limit: SettingsLimits.dropIns)
            }
        }
    }
}
