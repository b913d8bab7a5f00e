// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Memory limit of the control group of this process (`MemoryMax=` of the systemd unit).
package enum MemoryLimit {
    /// `MemoryMax=` of httpdnsd.service.
    package static let ofUnit = 900 << 20

    /// The limit in octets; nil for none.
    ///
    /// If this process is a service of systemd and cannot read the limit, the value is ``ofUnit``.
    package static var current: Int? {
        // SAFETY: the value is only compared.
        let isService = unsafe getenv("INVOCATION_ID") != nil
        return limit(groups: text("/proc/self/cgroup"), isService: isService) { folder in
            text("/sys/fs/cgroup\(folder)/memory.max")
        }
    }

    /// - Parameters:
    ///   - groups: the content of /proc/self/cgroup; nil if it cannot be read.
    ///   - read: returns memory.max of a control group; nil if it cannot be read.
    static func limit(
        groups: String?,
        isService: Bool,
        reading read: (_ folder: Substring) -> String?
    ) -> Int? {
        let own = groups?.split(separator: "\n").first { $0.hasPrefix("0::/") }?.dropFirst(3)
        guard let text = own.flatMap({ read($0) }) else { return isService ? ofUnit : nil }
        return Int(text.prefix { $0 != "\n" })
    }

    private static func text(_ path: String) -> String? {
        do throws(FileError) {
            return String(decoding: try RegularFile(path).read(atMost: 4096), as: UTF8.self)
        } catch {
            return nil
        }
    }
}
