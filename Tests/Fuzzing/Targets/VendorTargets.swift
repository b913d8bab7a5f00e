// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HTTPDNS

extension FuzzTarget {
    static let tencent = FuzzTarget(name: "tencent") { body in
        let plain = try tencentPlain.get()
        try plain.judge(body)
        // Skips a body with white space at the end. White space is removed before and after
        // decryption, so the encrypted reply and the plain reply would differ.
        guard body.last.map({ $0 > 0x20 }) ?? false else { return }
        for (sealed, cipher) in try tencentSealed.get() {
            try sealed.judge(body)
            let text = hexadecimal(try cipher.seal(body, vector: vector(of: cipher)))
            guard text.count <= VendorLimits.maximumBody else { return }
            try sealed.judge(text)
            try sealed.judgeSame(text, as: plain, body)
        }
    }

    static let alibabaV1 = json("alibaba-v1") { try Alibaba(account: "100000", api: .v1) }

    static let alibabaV2 = FuzzTarget(name: "alibaba-v2") { body in
        let plain = try alibabaPlain.get()
        try plain.judge(body)
        try plain.judge([UInt8](#"{"code":"success","mode":0,"data":"#.utf8) + body + [0x7D])
        for (mode, sealed, cipher) in try alibabaSealed.get() {
            try sealed.judge(body)
            let data = Data(try cipher.seal(body, vector: vector(of: cipher)))
                .base64EncodedString()
            try sealed.judge([UInt8](#"{"code":"success","mode":\#(mode),"data":"\#(data)"}"#.utf8))
        }
    }

    static let baidu = json("baidu") { try Baidu(account: "1", secret: Secret("a")) }

    static let volcengine = json("volcengine") { try Volcengine(account: "1", secret: Secret("a")) }

    static let json = json("json") { try DNSJSON(url: "https://dns.example/resolve") }

    private static func json(_ name: String, _ vendor: () throws -> any Vendor) -> FuzzTarget {
        let oracle = Result { VendorOracle(vendor: try vendor(), namesItsAnswers: true) }
        return FuzzTarget(name: name) { try oracle.get().judge($0) }
    }

    private static let tencentPlain = Result {
        VendorOracle(vendor: try Tencent(token: Secret("987654321"), id: 1), namesItsAnswers: false)
    }

    private static let tencentSealed = Result {
        let (aes, des) = (Secret("1234567890123456"), Secret("testkey1"))
        let channels = [
            (aes, Tencent.Channel.aes, try Cipher(.aesCBC, key: aes)),
            (des, .des, try Cipher(.desECB, key: des)),
        ]
        return try channels.map { key, channel, cipher in
            let vendor = try Tencent(key: key, id: 1, algorithm: channel)
            return (VendorOracle(vendor: vendor, namesItsAnswers: false), cipher)
        }
    }

    private static let alibabaPlain = Result {
        VendorOracle(vendor: try Alibaba(account: "100000"), namesItsAnswers: true)
    }

    private static let alibabaSealed = Result {
        let octets = [UInt8](0x00...0x0F)
        let key = Secret(String(decoding: hexadecimal(octets), as: UTF8.self))
        let ciphers = [
            (1, Alibaba.Encryption.cbc, try Cipher(.aesCBC, key: Secret(octets))),
            (2, .gcm, try Cipher(.aesGCM, key: Secret(octets))),
        ]
        return try ciphers.map { mode, encryption, cipher in
            let vendor = try Alibaba(account: "100000", aesKey: key, encryption: encryption)
            return (mode, VendorOracle(vendor: vendor, namesItsAnswers: false), cipher)
        }
    }

    private static func vector(of cipher: Cipher) -> [UInt8] {
        [UInt8](repeating: 0xA5, count: cipher.vectorOctets)
    }

    private static func hexadecimal(_ octets: [UInt8]) -> [UInt8] {
        let digits = [UInt8]("0123456789abcdef".utf8)
        return octets.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
    }
}
