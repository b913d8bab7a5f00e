// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

func server(_ text: String = "192.0.2.1:80") throws -> SocketAddress {
    try #require(SocketAddress(text))
}

func address(_ text: String) throws -> IPAddress {
    try #require(IPAddress(text))
}

func lookup(_ names: String..., families: Families = .both) throws -> VendorQuery {
    VendorQuery(names: try names.map { try Name($0) }, families: families)
}

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

func plainTencent() throws -> Tencent {
    try Tencent(token: Secret("987654321"), id: 12345)
}

func ok(_ body: String) -> HTTPReply {
    HTTPReply(status: 200, body: [UInt8](body.utf8))
}

let fixedEntropy = Entropy { (count) throws(VendorError) in
    [UInt8](TencentVectors.requestVector.prefix(count))
}

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
