// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Why the kernel does not answer.
package enum AccelerationError: Error, Equatable, CustomStringConvertible {
    /// The process may not; it needs CAP_BPF and CAP_NET_ADMIN, or a sandbox forbids bpf(2).
    case forbidden(what: String)

    /// The kernel has no place for programs on a device that go with the process: it is before 6.6.
    case tooOld

    /// The kernel did not take something else; `why` is its last word on it, if it had one.
    case refused(what: String, errno: Int32, why: String)

    /// What happened, and what helps against it.
    package var description: String {
        switch self {
        case .forbidden(let what):
            "no permission to make \(what); to have it, grant CAP_BPF, CAP_NET_ADMIN and the system "
                + "call bpf, as httpdnsd-accelerate.conf does"
        case .tooOld:
            "the kernel is older than 6.6, or was built without BPF on network devices"
        case .refused(let what, let errno, let why):
            "the kernel refuses \(what): \(Self.text(errno))\(why.isEmpty ? "" : " (\(why))")"
        }
    }

    /// The system's words for an error number.
    private static func text(_ errno: Int32) -> String {
        // SAFETY: the text is copied before anything can change it; glibc's has its own for each
        // thread.
        unsafe String(cString: strerror(errno))
    }

    /// The fault of a call that returned a negated `errno`.
    init(_ result: Int32, _ what: String, _ log: String = "") {
        // EACCES with a log is the verifier's word, not a matter of capabilities.
        self =
            -result == EPERM || -result == EACCES && log.isEmpty
            ? .forbidden(what: what) : .refused(what: what, errno: -result, why: log)
    }
}
