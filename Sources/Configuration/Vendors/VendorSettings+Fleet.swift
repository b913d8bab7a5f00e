// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

extension VendorSettings {
    /// Account, parameters and protection, which determine the vendor's answers.
    ///
    /// Machines of a fleet share answers if these values are equal. The values do not include
    /// servers, protocol and sources of secrets. The values include protection: an attacker can
    /// forge the answers of an unprotected channel, so a machine with a protected channel must not
    /// use these answers.
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

    /// Name, kind and account of the vendor, which identify its shared budget in a fleet.
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

    /// Returns a hash of `token` that identifies the account; empty if `token` is nil.
    private static func code(_ token: SecretSetting?) -> String {
        token.map { "\($0.value.code(of: Array("fleet".utf8)))" } ?? ""
    }
}
