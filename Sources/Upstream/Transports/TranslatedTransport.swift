// SPDX-License-Identifier: Apache-2.0
package import Net

/// Transport to an IPv4 server, through NAT64 on a network without IPv4.
package final class TranslatedTransport: UpstreamTransport {
    private let server: SocketAddress
    private let direct: any UpstreamTransport
    private let translation: AddressTranslation
    private let make: (SocketAddress) -> any UpstreamTransport

    private var translated: (address: SocketAddress, transport: any UpstreamTransport)?

    private var former = UpstreamNumbers()
    private var formerForgeries: UInt64 = 0

    /// Creates a transport to `server`.
    package init(
        to server: SocketAddress,
        _ translation: AddressTranslation,
        _ make: @escaping (SocketAddress) -> any UpstreamTransport
    ) {
        self.server = server
        self.translation = translation
        self.make = make
        direct = make(server)
        isProtected = direct.isProtected
        validates = direct.validates
        repeatsAfter = direct.repeatsAfter
    }

    package let isProtected: Bool
    package let validates: Bool
    package let repeatsAfter: Duration?

    package var forgeries: UInt64 {
        formerForgeries + direct.forgeries + (translated?.transport.forgeries ?? 0)
    }

    private var current: any UpstreamTransport {
        let address = translation.address(for: server)
        guard address != server else { return direct }
        if let translated, translated.address == address { return translated.transport }
        if let translated {
            former.add(translated.transport)
            formerForgeries += translated.transport.forgeries
        }
        let transport = make(address)
        translated = (address, transport)
        return transport
    }

    package func carry(_ attempt: Attempt) { current.carry(attempt) }

    package func count(in numbers: inout UpstreamNumbers) {
        direct.count(in: &numbers)
        numbers.add(former)
        if let translated { numbers.add(translated.transport) }
    }

    package func networkChanged() {
        direct.networkChanged()
        translated?.transport.networkChanged()
    }
}

extension UpstreamNumbers {
    @ServiceLoop
    fileprivate mutating func add(_ transport: any UpstreamTransport) {
        var numbers = UpstreamNumbers()
        transport.count(in: &numbers)
        add(numbers)
    }
}
