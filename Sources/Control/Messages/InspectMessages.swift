// SPDX-License-Identifier: Apache-2.0

package struct SettingsReply: Codable, Sendable, Equatable {
    package var file: String
    package var text: String

    package init(file: String, text: String) {
        self.file = file
        self.text = text
    }
}

package struct RoutesRequest: CallParameters, Equatable {
    /// Name whose route is returned; if nil, all routes are returned.
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

package struct LogLevelRequest: CallParameters, Equatable {
    /// New level, or `settings` for the configured level; if nil, the level is not changed.
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
    /// Duration of the captive portal mode; if nil, 180 s.
    package var forSeconds: Int?

    /// True to end the captive portal mode.
    package var off: Bool?

    package init(forSeconds: Int? = nil, off: Bool? = nil) {
        self.forSeconds = forSeconds
        self.off = off
    }

    package enum CodingKeys: CodingKey, CaseIterable { case forSeconds, off }

    /// Permitted durations of the mode, and the default, in seconds.
    package static let seconds = (range: 1...1_800, standard: 180)
}

package struct PortalReply: Codable, Sendable, Equatable {
    package var active: Bool

    /// Time until the captive portal mode ends; nil while the mode is off.
    package var seconds: Int?

    /// DNS servers of the current network.
    package var servers: [String]

    package init(active: Bool, seconds: Int? = nil, servers: [String] = []) {
        self.active = active
        self.seconds = seconds
        self.servers = servers
    }
}
