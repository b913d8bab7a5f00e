// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Frontend
internal import Glibc
internal import Net

// MARK: - Skipped addresses

extension ListenerManager {
    /// Returns the fault if the address is skipped; nil if the fault is an error.
    ///
    /// IPv6 addresses are skipped if the kernel does not support IPv6. `bind` describes the
    /// default addresses that are skipped.
    func ignorable(_ error: StartError, _ settings: Settings) -> SocketError? {
        guard case .listen(let address, let fault) = error else { return nil }
        if case .system(_, EAFNOSUPPORT) = fault { return fault }
        if fault.isAddressMissing { return settings.listenMark.isDefault ? fault : nil }
        let hasPassed = !passed.isEmpty || listeners.contains(where: \.isPassed)
        let isSkipped = hasPassed && (fault.isForbidden || fault.isAddressInUse)
        return isSkipped && Settings.defaultListen.contains(address) ? fault : nil
    }

    func warning(of fault: SocketError, at address: SocketAddress) -> String {
        let command = ServiceUnits.statusCommand(for: address)
        let hint =
            fault.isAddressMissing
            ? "" : "; if a socket unit opens this port, `\(command)` shows the cause"
        return "not listening on \(address): \(fault), ignoring this address\(hint)"
    }
}
