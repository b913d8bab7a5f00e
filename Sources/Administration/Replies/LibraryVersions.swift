// SPDX-License-Identifier: Apache-2.0
internal import CYAML
internal import Control
internal import HTTPDNS
internal import Net

enum LibraryVersions {
    static var reply: VersionReply {
        VersionReply(
            version: Product.version,
            swift: swift,
            libcurl: LibraryVersion.curl,
            openssl: CryptoVersion.openSSL,
            // SAFETY: libyaml's text is static.
            libyaml: unsafe String(cString: yaml_get_version_string())
        )
    }

    private static var swift: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }
}
