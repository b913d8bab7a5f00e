// SPDX-License-Identifier: Apache-2.0
internal import CLinux

/// What this process allows itself and others, for the rest of its life.
package enum OwnProcess {
    /// Keeps what is in memory there, such as keys, and privileges as few as they are.
    ///
    /// No core is written, no process of the same user may look into this one (root may), and no
    /// program that it starts gains anything by a set-user-ID bit.  To be called before any secret
    /// is read.
    ///
    /// - Throws: what the kernel does not grant.
    package static func close() throws(SocketError) {
        guard linux_close_process() == 0 else { throw .last("prctl") }
    }

    /// Gives up all capabilities but CAP_NET_BIND_SERVICE, which later listeners may need.
    ///
    /// Capabilities are a thread's: this one's, and of those that it starts from now on.
    ///
    /// - Throws: what the kernel does not grant; then the thread keeps what it had.
    package static func dropCapabilities() throws(SocketError) {
        guard linux_drop_capabilities() == 0 else { throw .last("capset") }
    }
}
