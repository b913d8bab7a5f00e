// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// File or directory that prevents a service, or all users except root, from reading a path.
package struct RootOnlyPath {
    package let path: String
    package let isDirectory: Bool

    package let isForRoot: Bool

    /// Only root can use these directories, but systemd gives each `DynamicUser=` service access to
    /// its own subdirectory.
    private static let ofSystemd: Set = [
        "/var/lib/private", "/var/cache/private", "/var/log/private", "/run/private",
    ]

    /// Finds the first directory above `path`, or `path` itself, that `user` cannot use.
    ///
    /// Also checks the directories above the target of symbolic links, but not `exempt` or the
    /// directories above `exempt`.
    ///
    /// - Parameter user: nil for any user except root.
    package init?(on path: String, exempt: String? = nil, for user: ServiceUser? = nil) {
        guard user?.user != 0 else { return nil }
        let exempt = exempt.flatMap { Self.resolved($0) }
        guard let target = Self.resolved(path) else { return nil }
        for path in [path, target] {
            let directories = path.indices.filter { path[$0] == "/" && $0 != path.startIndex }
                .map { String(path[..<$0]) }
            for directory in directories
            where !Self.contains(directory, exempt) && !Self.ofSystemd.contains(directory) {
                guard Self.isClosed(directory, isSearched: true, for: user) else { continue }
                (self.path, isDirectory) = (directory, true)
                isForRoot = Self.isClosed(directory, isSearched: true, for: nil)
                return
            }
        }
        guard Self.isClosed(target, isSearched: false, for: user) else { return nil }
        (self.path, isDirectory) = (path, Self.status(target).map(Self.isDirectory) ?? false)
        isForRoot = Self.isClosed(target, isSearched: false, for: nil)
    }

    /// Returns true if the resolved path `other` is `directory`, or is in `directory`.
    package static func contains(_ directory: String, _ other: String?) -> Bool {
        guard let other, let directory = resolved(directory) else { return false }
        return (other + "/").hasPrefix(directory + "/")
    }

    /// - Parameter isSearched: true for a directory that the user need not list, but in which the
    ///   user must open files.
    private static func isClosed(_ path: String, isSearched: Bool, for user: ServiceUser?) -> Bool {
        guard let status = status(path) else { return false }
        let needed: mode_t = isSearched ? 0o001 : isDirectory(status) ? 0o005 : 0o004
        let isOpenToGroup = status.st_mode & needed << 3 == needed << 3
        guard status.st_mode & needed != needed else { return false }
        guard let user else { return status.st_uid == 0 && (status.st_gid == 0 || !isOpenToGroup) }
        let isOpenToOwner = status.st_mode & needed << 6 == needed << 6
        return !(isOpenToOwner && status.st_uid == user.user)
            && !(isOpenToGroup && user.groups.contains(status.st_gid))
    }

    private static func isDirectory(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        // SAFETY: stat reads a C string that lives during the call, and fills `status`.
        return unsafe stat(path, &status) == 0 ? status : nil
    }

    /// Returns the path without symbolic links; nil if the file does not exist.
    package static func resolved(_ path: String) -> String? {
        var octets = [CChar](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: realpath reads a C string, and writes at most PATH_MAX octets, with a final NUL.
        guard unsafe realpath(path, &octets) != nil else { return nil }
        return String(
            decoding: octets.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }
}
