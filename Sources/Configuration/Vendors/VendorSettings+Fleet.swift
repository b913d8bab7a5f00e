// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

extension VendorSettings {
    /// Values that determine the vendor's answers; machines share answers if these values are
    /// equal.
    ///
    /// The values include protection, because a machine with a protected channel must not use
    /// answers that an attacker can forge.
    package var fleetView: String {
        let parts: [String] =
            switch account {
            case .tencent(let account):
                [account.id.map { "\($0)" } ?? Self.code(account.token), account.region.rawValue]
            case .alibaba(let account):
                [account.account, account.region.rawValue]
                    + account.sdns.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            case .json(let account): [account.url?.text ?? "", account.account ?? ""]
            case .baidu(let account): [account.account]
            case .volcengine(let account): [account.account]
            }
        let subnet = client.clientSubnet.map { "\($0)" } ?? ""
        let protection = account.any.isProtected ? "protected" : "unprotected"
        return ([account.kind.rawValue, protection, subnet] + parts).joined(separator: "\n")
    }

    /// Identity of a budget that the fleet shares.
    package var fleetAccount: String {
        let account: String =
            switch account {
            case .tencent(let account): account.id.map { "\($0)" } ?? Self.code(account.token)
            case .alibaba(let account): account.account
            case .json(let account): account.account ?? account.url?.text ?? ""
            case .baidu(let account): account.account
            case .volcengine(let account): account.account
            }
        return [name, self.account.kind.rawValue, account].joined(separator: "\n")
    }

    private static func code(_ token: SecretSetting?) -> String {
        token.map { "\($0.value.code(of: Array("fleet".utf8)))" } ?? ""
    }
}
