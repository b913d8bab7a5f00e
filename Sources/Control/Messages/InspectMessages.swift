// SPDX-License-Identifier: Apache-2.0

/// Reply to `Settings`.
package struct SettingsReply: Codable, Sendable, Equatable {
    package var file: String

    package var text: String

    /// Creates the reply.
    package init(file: String, text: String) {
        self.file = file
        self.text = text
    }
}

/// Arguments of `Routes`.
package struct RoutesRequest: CallParameters, Equatable {
    /// nil for all routes.
    package var name: String?

    /// Creates the request.
    package init(name: String? = nil) { self.name = name }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case name }
}

/// Reply to `Routes`.
package struct RoutesReply: Codable, Sendable, Equatable {
    package var routes: [RouteEntry]

    package var pattern: String?

    /// Creates the reply.
    package init(routes: [RouteEntry], pattern: String? = nil) {
        self.routes = routes
        self.pattern = pattern
    }
}

/// A route.
package struct RouteEntry: Codable, Sendable, Equatable {
    /// `file:line`.
    package var place: String

    package var domains: [String]

    package var except: [String]

    package var vendors: [String]

    /// Empty for the default upstreams.
    package var upstreams: [String]

    /// `upstream` or `none`.
    package var fallback: String

    /// Creates a route.
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

/// Arguments of `LogLevel`.
package struct LogLevelRequest: CallParameters, Equatable {
    /// `settings` for the configured level; nil to change nothing.
    package var level: String?

    /// Creates the request.
    package init(level: String? = nil) { self.level = level }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case level }
}

/// Reply to `LogLevel`.
package struct LogLevelReply: Codable, Sendable, Equatable {
    package var level: String

    package var settingsLevel: String

    /// Creates the reply.
    package init(level: String, settingsLevel: String) {
        self.level = level
        self.settingsLevel = settingsLevel
    }
}
