// SPDX-License-Identifier: Apache-2.0

package struct SettingsReply: Codable, Sendable, Equatable {
    package var file: String
    package var text: String

    package init(file: String, text: String) {
        self.file = file
        self.text = text
    }
}

extension SettingsReply: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("file", file)
            writer.member("text", text)
        }
    }
}

package struct RoutesRequest: CallParameters, Equatable {
    package var name: String?

    package init(name: String? = nil) { self.name = name }

    package enum CodingKeys: CodingKey, CaseIterable { case name }
}

package struct RoutesReply: Codable, Sendable, Equatable {
    package var routes: [RouteEntry]
    package var pattern: String?

    package init(routes: [RouteEntry], pattern: String? = nil) {
        self.routes = routes
        self.pattern = pattern
    }
}

package struct RouteEntry: Codable, Sendable, Equatable {
    package var place: String
    package var domains: [String]
    package var except: [String]
    package var vendors: [String]
    package var upstreams: [String]
    package var fallback: String

    package init(
        place: String,
        domains: [String],
        except: [String],
        vendors: [String],
        upstreams: [String],
        fallback: String
    ) {
        self.place = place
        self.domains = domains
        self.except = except
        self.vendors = vendors
        self.upstreams = upstreams
        self.fallback = fallback
    }
}

// MARK: - JSON

// Uses a JSONWriter, because Codable takes 300 MiB for 100,000 routes.

extension RoutesReply: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("pattern", pattern)
            writer.name("routes")
            writer.list(routes) { $1.write(to: &$0) }
        }
    }
}

extension RouteEntry: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            func list(_ name: String, _ texts: [String]) {
                writer.name(name)
                writer.list(texts) { $0.value($1) }
            }
            list("domains", domains)
            list("except", except)
            writer.member("fallback", fallback)
            writer.member("place", place)
            list("upstreams", upstreams)
            list("vendors", vendors)
        }
    }

    /// Minimum octets of the JSON object.
    package var minimumOctets: Int {
        let lists = [domains, except, upstreams, vendors]
        return lists.joined().reduce(80 + fallback.utf8.count + place.utf8.count) {
            $0 + $1.utf8.count + 2
        }
    }
}

// MARK: - Log level and captive portals

package struct LogLevelRequest: CallParameters, Equatable {
    package var level: String?

    package init(level: String? = nil) { self.level = level }

    package enum CodingKeys: CodingKey, CaseIterable { case level }
}

package struct LogLevelReply: Codable, Sendable, Equatable {
    package var level: String
    package var settingsLevel: String

    package init(level: String, settingsLevel: String) {
        self.level = level
        self.settingsLevel = settingsLevel
    }
}

package struct PortalRequest: CallParameters, Equatable {
    package var forSeconds: Int?

    package var off: Bool?

    package init(forSeconds: Int? = nil, off: Bool? = nil) {
        self.forSeconds = forSeconds
        self.off = off
    }

    package enum CodingKeys: CodingKey, CaseIterable { case forSeconds, off }

    package static let seconds = (range: 1...1_800, standard: 180)
}

package struct PortalReply: Codable, Sendable, Equatable {
    package var active: Bool

    package var seconds: Int?

    package var servers: [String]

    package init(active: Bool, seconds: Int? = nil, servers: [String] = []) {
        self.active = active
        self.seconds = seconds
        self.servers = servers
    }
}
