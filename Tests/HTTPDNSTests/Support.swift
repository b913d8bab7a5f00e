// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

/// The server every codec test asks.
func server(_ text: String = "192.0.2.1:80") throws -> SocketAddress {
    try #require(SocketAddress(text))
}

/// An address literal.
func address(_ text: String) throws -> IPAddress {
    try #require(IPAddress(text))
}

/// A look-up of `names`.
func lookup(_ names: String..., families: Families = .both) throws -> Lookup {
    Lookup(names: try names.map { try Name($0) }, families: families)
}

/// The account of the known answers, in the channel `aes` or `des`.
func sealedTencent(
    _ algorithm: Tencent.Channel,
    clientSubnetForm: Tencent.ClientSubnetForm = .encrypted,
    expires: Bool = false
) throws -> Tencent {
    let key = algorithm == .aes ? TencentVectors.aesKey : TencentVectors.desKey
    return try Tencent(
        key: Secret(key),
        id: 12345,
        algorithm: algorithm,
        clientSubnetForm: clientSubnetForm,
        expires: expires
    )
}

/// An account in the channel `https`, whose replies are plain text.
func plainTencent() throws -> Tencent {
    try Tencent(token: Secret("987654321"), id: 12345)
}

/// A reply with status 200.
func ok(_ body: String) -> HTTPReply {
    HTTPReply(status: 200, body: [UInt8](body.utf8))
}

/// The vector of the known answers in place of randomness.
let fixedEntropy = Entropy { (count) throws(CipherError) in
    [UInt8](TencentVectors.requestVector.prefix(count))
}

/// Numbers that look random and are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
