// SPDX-License-Identifier: Apache-2.0

/// The reply to `Settings`: the settings that are in force.
package struct SettingsReply: Codable, Sendable, Equatable {
    /// The file that the daemon reads, as it was named on the command line.
    package var file: String

    /// The settings in force as YAML, defaults included; secrets by the places where they are kept.
    package var text: String

    /// Makes the reply.
    package init(file: String, text: String) {
        self.file = file
        self.text = text
    }
}

/// The arguments of `Routes`.
package struct RoutesRequest: CallParameters, Equatable {
    /// Only the route of this name; nil for all routes.
    package var name: String?

    /// Makes the request.
    package init(name: String? = nil) { self.name = name }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case name }
}

/// The reply to `Routes`.
package struct RoutesReply: Codable, Sendable, Equatable {
    /// The routes in the order of the settings.
    package var routes: [RouteEntry]

    /// The pattern that covers the name; nil without one.
    package var pattern: String?

    /// Makes the reply.
    package init(routes: [RouteEntry], pattern: String? = nil) {
        self.routes = routes
        self.pattern = pattern
    }
}

/// A route of the settings in force.
package struct RouteEntry: Codable, Sendable, Equatable {
    /// Its place in the settings, as `file:line`.
    package var place: String

    /// The patterns of its names, as the settings write them.
    package var domains: [String]

    /// The patterns of names that it is not for.
    package var except: [String]

    /// The vendors that are asked for addresses, in order.
    package var vendors: [String]

    /// The upstreams that it names; none for those that all names have.
    package var upstreams: [String]

    /// The source of answers that no vendor has: `upstream` or `none`.
    package var fallback: String

    /// Makes a route of its parts.
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

/// The arguments of `LogLevel`.
package struct LogLevelRequest: CallParameters, Equatable {
    /// The least important level that is logged from now on, or `settings` for that of the settings;
    /// nil changes nothing.
    package var level: String?

    /// Makes the request.
    package init(level: String? = nil) { self.level = level }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case level }
}

/// The reply to `LogLevel`: the levels as they are now.
package struct LogLevelReply: Codable, Sendable, Equatable {
    /// The least important level that is logged.
    package var level: String

    /// The level that the settings, or the command line, say.
    package var settingsLevel: String

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case level
        case settingsLevel = "settings-level"
    }

    /// Makes the reply.
    package init(level: String, settingsLevel: String) {
        self.level = level
        self.settingsLevel = settingsLevel
    }
}
