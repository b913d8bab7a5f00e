// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Reason why acceleration is not available.
package enum AccelerationError: Error, Equatable, CustomStringConvertible {
    /// The process lacks CAP_BPF or CAP_NET_ADMIN, or bpf(2) is forbidden.
    case forbidden(what: String)

    /// The kernel is older than Linux 6.6, which added TCX, or has no BPF on network devices.
    case tooOld

    /// `why` is the last line of the BPF verifier's log, or empty.
    case refused(what: String, errno: Int32, why: String)

    package var description: String {
        switch self {
        case .forbidden(let what):
            "no permission for \(what): grant CAP_BPF, CAP_NET_ADMIN and the system call "
                + "bpf, as httpdnsd-accelerate.conf does"
        case .tooOld: "the kernel is older than 6.6, or has no BPF support on network devices"
        case .refused(let what, let errno, let why):
            "the kernel rejected \(what): \(Self.text(errno))\(why.isEmpty ? "" : " (\(why))")"
        }
    }

    private static func text(_ errno: Int32) -> String {
        // SAFETY: the text is copied; glibc has a buffer per thread.
        unsafe String(cString: strerror(errno))
    }

    /// Creates the error for `result`, a negated `errno`.
    init(_ result: Int32, _ what: String, _ log: String = "") {
        // EACCES with a log means that the BPF verifier rejected the program.
        self =
            -result == EPERM || -result == EACCES && log.isEmpty
            ? .forbidden(what: what) : .refused(what: what, errno: -result, why: log)
    }
}
