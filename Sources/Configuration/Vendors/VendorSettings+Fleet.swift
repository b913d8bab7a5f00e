// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

extension VendorSettings {
    /// Everything in the settings that the vendor's answers depend on, equal on all machines of a
    /// fleet that use the same account with the same parameters.
    ///
    /// The servers, the protocol and the sources of the secrets do not matter.
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
        let subnet = clientSubnet.map { "\($0)" } ?? ""
        return ([account.kind.rawValue, subnet] + parts).joined(separator: "\n")
    }

    /// Text that identifies an account by its token, but does not show the token.
    private static func code(_ token: SecretSetting?) -> String {
        token.map { "\($0.value.code(of: Array("fleet".utf8)))" } ?? ""
    }
}
