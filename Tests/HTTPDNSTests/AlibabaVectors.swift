// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

/// Test vectors from Alibaba's documents 56810 (API v1) and 111585 (scheduling).
///
/// The other vectors were computed with python-cryptography, by the algorithms of the SDKs.
enum AlibabaVectors {
    static let secret = [UInt8](0x00...0x1F).hexadecimal

    static let aesKey = [UInt8](0x00...0x0F).hexadecimal

    static let now: Int64 = 1_700_000_000

    static let cbcVector = [UInt8](0xA0...0xAF)

    static let gcmVector = [UInt8](0xB0...0xBB)

    static let plainData =
        #"{"cip":"1.2.3.4","answers":[{"dn":"www.aliyun.com","v4":{"ips":["192.0.2.10","#
        + #""192.0.2.11"],"ttl":60},"v6":{"ips":[],"ttl":60,"no_ip_code":"RRNotExist"}}]}"#

    static let cbcData =
        "oKGio6SlpqeoqaqrrK2ur37QSC0XB/Bfaljblh4XVqVTybyeE0Y0UlBNHvC3k6DlLepvqqExEq/FRbbjM1gkAhb7"
        + "KLnN+4FKfTlLa4Gjr1N7AMXJ82bEm1uix1+PCYRczZrugaqCduz5Fl6piVFJCiJerw7XJhlMBTUxk0m9iFrF"
        + "0x4ud4ZtLO/CTrjlNTTBdr2zgEWO5msDfN8ze4ta766G6yS/IOLRxteeqOwgcKI="

    static let gcmData =
        "sLGys7S1tre4ubq7JevT9Le1ER2PBGko5lQrxPVxNhm6lXKU0tQ94sExRqm5xW9c1RWtgx5n120e+kKrfZrLRLzS"
        + "ItXAPIi1aVLe6x9dPmTzmd3O7vbX+XtF2N+foeICIGjmL9XSfTK9ZTC37OYzapmBssMM48u2ljjIHx3tqtcn"
        + "1Buj0oiWsW2M8+QzosQcGvbKqtKCbhC7ORR613SCvxly90vi4BmBINTboGBsjsyuXXUJ7b8="
}

func entropy(_ octets: [UInt8]) -> Entropy {
    Entropy { (count) throws(VendorError) in [UInt8](octets.prefix(count)) }
}

func alibaba(
    _ encryption: Alibaba.Encryption = .none,
    api: Alibaba.API = .v2,
    secret: String? = AlibabaVectors.secret,
    parameters: [String: String] = [:],
    sendsVersion: Bool = false
) throws -> Alibaba {
    try Alibaba(
        account: "100000",
        secret: secret.map { Secret($0) },
        aesKey: Secret(AlibabaVectors.aesKey),
        api: api,
        encryption: encryption,
        usesTLS: false,
        parameters: parameters,
        sendsVersion: sendsVersion
    )
}

extension HTTPReply {
    init(_ status: Int, _ body: String) {
        self.init(status: status, body: [UInt8](body.utf8))
    }
}
