// SPDX-License-Identifier: Apache-2.0
import CCurl

/// Changes of socket events and of the timeout that libcurl requests through its callbacks.
///
/// Not isolated, because C code on the service loop uses this object.
final class WantedEvents {
    typealias Change = (descriptor: Int32, events: DescriptorWatch.Events)

    /// A change without events means that libcurl removed the socket.
    private var changes: [Change] = []

    private(set) var hasChanges = false

    /// Milliseconds, or -1 for none; nil if unchanged.
    private var timeout: Int?

    func takeChanges() -> [Change] {
        var taken: [Change] = []
        swap(&taken, &changes)
        hasChanges = false
        return taken
    }

    func takeTimeout() -> Int? {
        defer { timeout = nil }
        return timeout
    }

    func forget(_ descriptor: Int32) { changes.removeAll { $0.descriptor == descriptor } }

    private func note(_ descriptor: Int32, _ what: Int32) {
        hasChanges = true
        let events: DescriptorWatch.Events =
            switch what {
            case CURL_POLL_REMOVE: []
            case CURL_POLL_IN: .readable
            case CURL_POLL_OUT: .writable
            default: [.readable, .writable]
            }
        var changes: [Change] = []
        swap(&changes, &self.changes)
        defer { swap(&changes, &self.changes) }
        if let index = changes.firstIndex(where: { $0.descriptor == descriptor }) {
            changes[index].events = events
        } else {
            changes.append((descriptor, events))
        }
    }

    // SAFETY: libcurl calls the callbacks during the life of the owner.
    static let socketChanged: curl_socket_callback = { _, descriptor, what, owner, _ in
        guard let owner = unsafe owner else { return 0 }
        unsafe Unmanaged<WantedEvents>.fromOpaque(owner)
            ._withUnsafeGuaranteedRef { $0.note(descriptor, what) }
        return 0
    }

    // SAFETY: as for `socketChanged`.
    static let timeoutChanged: curl_multi_timer_callback = { _, milliseconds, owner in
        guard let owner = unsafe owner else { return 0 }
        unsafe Unmanaged<WantedEvents>.fromOpaque(owner)
            ._withUnsafeGuaranteedRef { $0.timeout = milliseconds }
        return 0
    }
}
