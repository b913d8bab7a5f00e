// SPDX-License-Identifier: Apache-2.0

extension ResolverWatch {
    /// `resolved` and `running` are nil if unknown.
    func sources(
        _ resolved: [LinkResolvers]?,
        _ names: Set<String>,
        _ running: [String: LinkResolvers.Interface]?
    ) -> [[LinkResolvers]] {
        var sources = [files.chosen.map { [$0] }, resolved].compactMap(\.self)
        if let (list, unreadable) = networkManager.settings(running: running) {
            note(unreadable, in: "NetworkManager")
            sources.append(list)
        }
        for directory in files.directories {
            let (list, unreadable) = files.read(directory, names)
            note(unreadable, in: directory.path)
            sources.append(list)
        }
        // /etc/resolv.conf may be a link to the ignored file, so the content is compared.
        let ignored = ignoredFile
        fileFaults = []
        for (source, path) in files.files {
            if source == .networkManager && networkManager.isKnown { continue }
            let text: String
            do throws(FileFault) {
                text = try ResolverFiles.read(path)
            } catch {
                if !error.isAbsence { fileFaults.append("\(error)") }
                continue
            }
            guard text != ignored else { continue }
            let (entry, unreadable) = LinkResolvers.reading(resolvConf: text, .file, link: "")
            note(unreadable, in: path)
            sources.append([entry])
        }
        return sources
    }

    private var ignoredFile: String? {
        guard !resolved.allowsFile else { return nil }
        return files.files.first { $0.source == .resolved }.flatMap { ResolverFiles.text($0.path) }
    }

    func reportProblems() {
        let new = [resolved.problem, networkManager.problem].compactMap(\.self) + fileFaults
        for text in new where !problems.contains(text) { report("network resolvers: \(text)") }
        problems = new
    }

    private func note(_ unreadable: [String], in source: String) {
        for line in unreadable where reported.count < Self.maximumReports {
            guard reported.insert("\(source)\0\(line)").inserted else { continue }
            report("network resolvers: \(source): cannot read `\(line)`, ignoring the line")
        }
    }
}
