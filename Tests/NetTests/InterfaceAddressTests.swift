// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

@Suite("An address with an interface", .timeLimit(.minutes(15)))
struct InterfaceAddressTests {
    private static let absent = "[fe80::7%nosuch0]:53"

    private func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(text), "\(text)")
    }

    private func kernelScope(of address: SocketAddress) -> UInt32 {
        var storage = sockaddr_storage()
        _ = address.write(to: &storage)
        return SocketAddress(storage)?.scope ?? 0
    }

    @Test
    func `the name of an absent interface is kept`() throws {
        let address = try address(Self.absent)
        #expect("\(address)" == Self.absent)
        #expect(address.lacksInterface)
        #expect(try address == self.address(Self.absent))
        #expect(try address != self.address("[fe80::7%nosuch1]:53"))
    }

    @Test
    func `two absent interfaces are not the same interface`() throws {
        let (one, two) = (try address(Self.absent), try address("[fe80::7%nosuch1]:53"))
        #expect(!one.isSame(as: two) && !one.overlaps(two))
        #expect(one.isSame(as: one) && one.overlaps(one))
    }

    @Test
    func `the kernel gets the present index of the interface`() throws {
        let named = try address("[fe80::7%lo]:53")
        let index = if_nametoindex("lo")
        #expect(index != 0 && kernelScope(of: named) == index)
        #expect(!named.lacksInterface)
        let numeric = try address("[fe80::7%\(index)]:53")
        #expect("\(numeric)" == "[fe80::7%\(index)]:53" && numeric != named)
        #expect(kernelScope(of: numeric) == index)
        #expect(named.isSame(as: numeric) && numeric.overlaps(named))
    }

    @ServiceLoop
    @Test
    func `an absent interface is an absent address and an unreachable peer`() throws {
        let address = try address(Self.absent)
        for isAbsent in [false, true] {
            do {
                _ = try StreamListener(binding: address, isAbsent: isAbsent)
                Issue.record("the bind succeeds")
            } catch {
                #expect(error.isInterfaceMissing && error.isAddressMissing, "\(error)")
            }
        }
        #expect(!address.isLocal)
        do {
            _ = try DatagramClient(connectedTo: address)
            Issue.record("the connect succeeds")
        } catch {
            #expect(error.isUnreachable, "\(error)")
        }
    }

    @ServiceLoop
    @Test
    func `a listener shows the name of its interface`() throws {
        let listener = try StreamListener(binding: address("[fe80::7%lo]:0"), isAbsent: true)
        let bound = try #require(listener.address)
        #expect(bound.port != 0 && bound.host == "fe80::7%lo")
        #expect(listener.localAddress?.scope == if_nametoindex("lo"))
        #expect(listener.isInPlace)
        listener.close()
        #expect(!listener.isInPlace)
    }

    @ServiceLoop
    @Test
    func `the interface of an address that is not link-local is ignored`() throws {
        for name in ["lo", "nosuch0"] {
            let address = try address("[::1%\(name)]:0")
            #expect(!address.lacksInterface)
            #expect(try StreamListener(binding: address).isInPlace, "\(name)")
        }
    }

    @Test(
        arguments: [
            "", "0", "2147483648", "4294967296", "a/b", "a b", "a:b", "..", "sixteencharacter",
        ]
    )
    func `a name that no interface can have is an error`(name: String) {
        #expect(SocketAddress("[fe80::7%\(name)]:53") == nil)
    }
}
