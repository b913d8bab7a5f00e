// SPDX-License-Identifier: Apache-2.0
internal import CLinux
private import Glibc

package enum OwnProcess {
    /// Disables core dumps, tracing by other processes of the user, and new privileges after exec.
    ///
    /// Must be called before any secret is read.
    package static func close() throws(SocketError) {
        guard linux_close_process() == 0 else { throw .last("prctl") }
    }

    /// Opens /dev/null for each closed standard descriptor.
    ///
    /// Otherwise, a socket could get descriptor 2, and would receive the log.
    package static func openStandardDescriptors() throws(SocketError) {
        guard linux_open_standard_descriptors(O_RDWR) == 0 else { throw .last("open") }
    }

    /// Drops all capabilities except CAP_NET_BIND_SERVICE, which later listeners may need.
    ///
    /// Applies to the calling thread and the threads that it starts later.
    package static func dropCapabilities() throws(SocketError) {
        guard linux_drop_capabilities() == 0 else { throw .last("capset") }
    }

    package static var hostName: String? {
        var text = [CChar](repeating: 0, count: 256)
        // SAFETY: the last element stays 0, so that the name ends with NUL.
        guard unsafe gethostname(&text, text.count - 1) == 0 else { return nil }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: Unicode.UTF8.self
        )
    }

    /// Makes malloc(3) return the free memory of all threads to the system.
    ///
    /// Takes about 1 ms for 30 MiB; call it on a worker thread.
    package static func returnFreeMemory() {
        linux_return_free_memory()
    }
}
