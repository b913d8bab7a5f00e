// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    /// Part of ``description``.
    static let changes = """
        # Stops sending to a vendor or an upstream until Resume. The next vendor or the fallback
        # answers. Calls in flight continue. Exactly one of `vendor`, `upstream` and `name` (a
        # vendor, or else an upstream) is required. NotFound if none has this name. A changing call.
        # + in-flight: int
        method Pause(vendor: ?string, upstream: ?string, name: ?string) -> (
          vendor: ?string,
          upstream: ?string,
          changed: bool,
          rest: ?Rest
        )

        # Resumes a vendor or an upstream; also ends the suspension of a vendor that refused the
        # account. A changing call.
        # + in-flight: int
        method Resume(vendor: ?string, upstream: ?string, name: ?string) -> (
          vendor: ?string,
          upstream: ?string,
          changed: bool,
          rest: ?Rest
        )

        # line, column: from 1; 0 if the complaint concerns the whole file, or a resource that it
        # names
        type Complaint (file: string, line: int, column: int, message: string, hint: ?string)

        # path: vendors and upstreams by name, routes by first domain
        # old, new: one line of YAML; both absent for a secret
        type Change (
          path: string,
          kind: (added, removed, changed, secret),
          old: ?string,
          new: ?string
        )

        # Reads the settings again and applies all of them or none; `applied` says which. A changing
        # call. The reply takes as long as reading the files.
        # notes: remarks for the operator, such as that systemd credentials date from the start
        # + needs-restart: []string            options that keep their old values until a restart
        # + removed-answers: int               answers removed from the cache as no longer valid
        method Reload() -> (
          applied: bool,
          problems: []Complaint,
          warnings: []Complaint,
          changes: []Change,
          notes: ?[]string
        )

        # Returns what Reload would report for the settings file as it is now, or for `text`, whose
        # problems name `file`. Changes nothing and does not try to bind addresses. `applied` is
        # false. Requires the same rights as a changing call, because the daemon reads the files
        # that settings name.
        # + needs-restart: []string
        # + removed-answers: int               always 0
        method Check(text: ?string, file: ?string) -> (
          applied: bool,
          problems: []Complaint,
          warnings: []Complaint,
          changes: []Change,
          notes: ?[]string
        )

        # Returns the settings in force as YAML, including defaults. The YAML can be read again.
        # Secrets are references to their files. Requires the same rights as a changing call,
        # because settings name files of users.
        method Settings() -> (file: string, text: string)

        # place: file:line in the settings
        type Route (
          place: string,
          domains: []string,
          except: []string,
          vendors: []string,
          upstreams: []string,
          fallback: (upstream, none)
        )

        # Returns the routes in force, or the route of `name` and the `pattern` that covers it.
        # NotFound if no route covers the name.
        method Routes(name: ?string) -> (routes: []Route, pattern: ?string)

        # Returns the lowest level that is logged: trace, debug, info, notice, warning, error or
        # critical. With `level`, sets it until the daemon ends; `settings` returns to the
        # configured level. Setting the level is a changing call.
        # + settings-level: string             the level of the settings or the command line
        method LogLevel(level: ?string) -> (level: string)
        """
}
