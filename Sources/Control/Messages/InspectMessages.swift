// SPDX-License-Identifier: Apache-2.0

/// Reply to `Settings`: the settings in force.
package struct SettingsReply: Codable, Sendable, Equatable {
    /// File that the daemon reads, as given on its command line.
    package var file: String

    /// Settings in force as YAML, including defaults; secrets as references to their files.
    package var text: String

    /// Creates the reply.
    package init(file: String, text: String) {
        self.file = file
        self.text = text
    }
}

/// Arguments of `Routes`.
package struct RoutesRequest: CallParameters, Equatable {
    /// Name to find the route of; nil for all routes.
    package var name: String?

    /// Creates the request.
    package init(name: String? = nil) { self.name = name }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case name }
}

/// Reply to `Routes`.
package struct RoutesReply: Codable, Sendable, Equatable {
    /// Routes in the order of the settings.
    package var routes: [RouteEntry]

    /// Pattern that covers the name; nil without a name.
    package var pattern: String?

    /// Creates the reply.
    package init(routes: [RouteEntry], pattern: String? = nil) {
        self.routes = routes
        self.pattern = pattern
    }
}

/// A route of the settings in force.
package struct RouteEntry: Codable, Sendable, Equatable {
    /// Place in the settings, as `file:line`.
    package var place: String

    /// Patterns of its names, as written in the settings.
    package var domains: [String]

    /// Patterns of names that the route excludes.
    package var except: [String]

    /// Vendors in their order.
    package var vendors: [String]

    /// Upstreams of the route; empty if the route uses the default upstreams.
    package var upstreams: [String]

    /// Source of the answer if no vendor has one: `upstream` or `none`.
    package var fallback: String

    /// Creates a route from its parts.
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
    /// New log level; `settings` for the configured level; nil to change nothing.
    package var level: String?

    /// Creates the request.
    package init(level: String? = nil) { self.level = level }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case level }
}

/// Reply to `LogLevel`.
package struct LogLevelReply: Codable, Sendable, Equatable {
    /// Lowest level that is logged.
    package var level: String

    /// Level of the settings or the command line.
    package var settingsLevel: String

    /// Creates the reply.
    package init(level: String, settingsLevel: String) {
        self.level = level
        self.settingsLevel = settingsLevel
    }
}
