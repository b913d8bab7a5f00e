// SPDX-License-Identifier: Apache-2.0
import Control

enum VersionText {
    static func render(_ reply: VersionReply, _ palette: Palette) -> String {
        var table = Table("", "")
        table.add("httpdnsd", reply.version)
        table.add(
            "httpdnsctl",
            Table.Cell(Product.version, Product.version == reply.version ? .plain : .doubtful)
        )
        table.add("Swift", reply.swift)
        table.add("libcurl", reply.libcurl)
        table.add("OpenSSL", reply.openssl)
        table.add("libyaml", reply.libyaml)
        return table.text(palette)
    }
}
