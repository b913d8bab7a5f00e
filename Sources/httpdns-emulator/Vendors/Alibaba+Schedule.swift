// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Alibaba {
    /// A service address, with a port if it is an unusual one.
    struct Server: Sendable, Equatable {
        /// The address.
        var address: Address
        /// The port, nil for 80 and 443.
        var port: UInt16?

        /// Reads `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`.
        init?(_ text: String) {
            if let address = Address(text) {
                self.address = address
            } else if let endpoint = Endpoint(text), endpoint.port > 0 {
                (address, port) = (endpoint.address, endpoint.port)
            } else {
                return nil
            }
        }
    }

    /// The start-up addresses by region (616049), IPv4 and IPv6.
    private static let startUp: [String: (v4: [String], v6: [String])] = [
        "cn": (
            [
                "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240",
                "106.11.25.239", "59.82.99.47",
            ],
            [
                "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10",
                "2401:b180:2000:30::1c",
            ]
        ),
        "hk": (
            ["47.56.234.194", "47.56.119.115"], ["240b:4000:f10::178", "240b:4000:f10::188"]
        ),
        "sg": (
            ["161.117.200.122", "47.74.222.190"], ["240b:4000:f10::178", "240b:4000:f10::188"]
        ),
        "us": (
            ["47.246.131.175", "47.246.131.141"], ["2404:2280:4000::2bb", "2404:2280:4000::23e"]
        ),
        "de": (
            ["47.89.80.182", "47.246.146.77"], ["2404:2280:3000::176", "2404:2280:3000::188"]
        ),
    ]

    /// Seconds `t` may be in the past: the old edition of the document signs "now" (435286).
    private static let pastSeconds = 150

    /// Seconds `t` may be ahead (111585).
    private static let aheadSeconds = 300

    /// Reads `ss`.
    func schedule(_ parameters: Parameters, at time: Date) throws(Code) -> Call {
        // The server near a client of region=global is, for us, the one in China.
        let region = parameters.text("region") ?? "cn"
        guard let known = Self.startUp[region == "global" ? "cn" : region] else {
            throw .missingArgument
        }
        if let session = parameters.text("sid") {
            guard session.utf8.count == 12, session.utf8.allSatisfy(\.isLetterOrDigit) else {
                throw .missingArgument
            }
        }
        let isSigned = try checkSchedule(parameters, at: time)
        let servers = manner.servers ?? (known.v4 + known.v6).compactMap(Server.init)
        var members: [(String, JSONText)] = []
        for (name, family) in [("service_ip", Family.v4), ("service_ipv6", .v6)] {
            let some = servers.filter { $0.address.family == family }
            members.append((name, .strings(some.map(\.address.text))))
            // Either no list of ports, or one as long as the list of addresses.
            guard some.contains(where: { $0.port != nil }) else { continue }
            members.append((name + "_port", .array(some.map { .number(Int($0.port ?? 80)) })))
        }
        if let status = manner.status {
            members.append(("service_status", .string(status.rawValue)))
        }
        let answer = JSONText.object(members)
        return Call(channel: isSigned ? "alibaba-ss-signed" : "alibaba-ss", isLookup: false) {
            _,
            _ in
            Response(json: answer)
        }
    }

    /// Whether it is signed, and then well; the SDKs do not sign it whatever the console says.
    private func checkSchedule(_ parameters: Parameters, at time: Date) throws(Code) -> Bool {
        switch (parameters.text("n"), parameters.text("t"), parameters.text("s")) {
        case (nil, nil, nil): return false
        case (let nonce?, let expiry?, let signature?):
            guard (8...16).contains(nonce.utf8.count),
                nonce.utf8.allSatisfy({ UInt8(String(UnicodeScalar($0)), radix: 16) != nil }),
                expiry.isDigits, let seconds = Int(expiry)
            else { throw .missingArgument }
            let honest = Digest.md5("\(nonce)-\(account[.alibabaSecret])-\(expiry)")
            guard Digest.areEqual(signature, honest) else { throw .invalidSignature }
            let left = TimeInterval(seconds) - time.timeIntervalSince1970
            guard left > -TimeInterval(Self.pastSeconds) else { throw .signatureExpired }
            guard left <= TimeInterval(Self.aheadSeconds) else { throw .invalidDuration }
            return true
        default:
            throw .missingArgument
        }
    }
}
