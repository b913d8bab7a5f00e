// SPDX-License-Identifier: Apache-2.0

extension Alibaba {
    package enum Region: String, Sendable, Hashable, CaseIterable {
        case cn
        case hk
        case sg
        case us
        case de

        /// Scheduling servers, which also resolve names (Alibaba Cloud document 616049).
        package var defaultServers: [String] { servers.v4 + servers.v6 }

        private var servers: (v4: [String], v6: [String]) {
            switch self {
            case .cn:
                (
                    [
                        "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240",
                        "106.11.25.239", "59.82.99.47",
                    ],
                    [
                        "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10",
                        "2401:b180:2000:30::1c",
                    ]
                )
            case .hk:
                (
                    ["47.56.234.194", "47.56.119.115"],
                    ["240b:4000:f10::178", "240b:4000:f10::188"]
                )
            case .sg:
                // For Singapore, the document lists the IPv6 servers of Hong Kong.
                (
                    ["161.117.200.122", "47.74.222.190"],
                    ["240b:4000:f10::178", "240b:4000:f10::188"]
                )
            case .us:
                (
                    ["47.246.131.175", "47.246.131.141"],
                    ["2404:2280:4000::2bb", "2404:2280:4000::23e"]
                )
            case .de:
                (
                    ["47.89.80.182", "47.246.146.77"],
                    ["2404:2280:3000::176", "2404:2280:3000::188"]
                )
            }
        }
    }
}
