// SPDX-License-Identifier: Apache-2.0
import Control

enum VersionText {
    static func render(_ reply: VersionReply, _ palette: Palette) -> String {
        var table = Table("", "")
        table.add("httpdnsd", Table.Cell(reply.version))
        table.add(
            "httpdnsctl",
            Table.Cell(
                Product.version,
                Product.version == reply.version ? .plain : .doubtful
            )
        )
        table.add("Swift", Table.Cell(reply.swift))
        table.add("libcurl", Table.Cell(reply.libcurl))
        table.add("OpenSSL", Table.Cell(reply.openssl))
        table.add("libyaml", Table.Cell(reply.libyaml))
        return table.text(palette)
    }
}
