// SPDX-License-Identifier: Apache-2.0

extension ServiceUnits {
    /// Credentials that systemd passes to the service; see systemd.exec(5).
    struct Credentials {
        enum Source: Hashable {
            case none

            case file(String)

            /// The unit passes the credential in another way, or the source is not known.
            case other
        }

        /// Path of each credential of LoadCredential=; nil if the path is relative or omitted.
        private var files: [String: String?] = [:]

        private var others: Set<String> = []

        private var hasUnknown = false

        init(_ lines: [(key: String, value: String)]) {
            for (key, value) in lines {
                let name = String(value.prefix { $0 != ":" })
                switch key {
                case "LoadCredential":
                    guard !value.isEmpty else {
                        files = [:]
                        continue
                    }
                    let path = String(value.dropFirst(name.count + 1))
                    files[name] = .some(path.hasPrefix("/") ? path : nil)
                case "LoadCredentialEncrypted", "SetCredential", "SetCredentialEncrypted":
                    if value.isEmpty { others = [] } else { others.insert(name) }
                case "ImportCredential": hasUnknown = !value.isEmpty
                default: continue
                }
                if Self.isSpecial(value) { hasUnknown = true }
            }
        }

        /// Files of LoadCredential=, in the order of the credential names.
        ///
        /// If one of these files is missing, systemd does not start the service.
        var requiredFiles: [(name: String, path: String)] {
            files.sorted { $0.key < $1.key }.compactMap { name, path in
                guard let path, !others.contains(name), !Self.isSpecial(path) else { return nil }
                return (name, path)
            }
        }

        /// Specifiers, quotes and continuation lines are not interpreted.
        private static func isSpecial(_ value: String) -> Bool {
            value.contains { "%\"'\\".contains($0) }
        }

        func source(of name: String) -> Source {
            if case .some(let path) = files[name] { return path.map { .file($0) } ?? .other }
            // If the path of a credential `ID` is a directory, each file in this directory is a
            // credential `ID_FILE`.
            let mayBeInDirectory = files.keys.contains { name.hasPrefix($0 + "_") }
            return hasUnknown || mayBeInDirectory || others.contains(name) ? .other : .none
        }
    }
}
