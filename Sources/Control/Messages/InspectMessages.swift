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
    /// Name whose route is returned; nil for all routes.
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
    /// New level, or `settings` for the configured level; nil to only return the level.
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
