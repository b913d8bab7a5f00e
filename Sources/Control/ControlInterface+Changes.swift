// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    static let changes = """
        # Stops sending to a vendor or an upstream until Resume; calls in flight continue. Exactly
        # one of `vendor`, `upstream` and `name` (a vendor, or else an upstream) is required.
        # NotFound if none has this name. A changing call.
        # + in-flight: int
        # + problems: ?[]string                pauses that leave names without vendor and upstream
        method Pause(vendor: ?string, upstream: ?string, name: ?string) -> (
          vendor: ?string,
          upstream: ?string,
          changed: bool,
          rest: ?Rest
        )

        # Resumes a vendor or an upstream, also a vendor that refused the account. A changing call.
        # + in-flight: int
        method Resume(vendor: ?string, upstream: ?string, name: ?string) -> (
          vendor: ?string,
          upstream: ?string,
          changed: bool,
          rest: ?Rest
        )

        # line, column: from 1; 0 for a whole file, or for a resource that the settings name
        type Complaint (file: string, line: int, column: int, message: string, hint: ?string)

        # path: vendors and upstreams by name, routes by first domain
        # old, new: one line of YAML; both absent for a secret
        type Change (
          path: string,
          kind: (added, removed, changed, secret),
          old: ?string,
          new: ?string
        )

        # Reads the settings again and applies all of them or none (`applied`). A changing call.
        # notes: remarks for the operator
        # + needs-restart: []string            options that keep their old values until a restart
        # + removed-answers: int               cached answers that became invalid
        method Reload() -> (
          applied: bool,
          problems: []Complaint,
          warnings: []Complaint,
          changes: []Change,
          notes: ?[]string
        )

        # Returns what Reload would report for the settings file, or for `text` as the content of
        # `file`; `applied` is false. Binds new addresses for a moment, to find addresses on which
        # the daemon cannot listen. Requires the rights of changing calls, because the daemon reads
        # the files that settings name.
        # + needs-restart: []string
        # + removed-answers: int               cached answers that a reload would remove
        method Check(text: ?string, file: ?string) -> (
          applied: bool,
          problems: []Complaint,
          warnings: []Complaint,
          changes: []Change,
          notes: ?[]string
        )

        # Returns the settings in force as YAML, including defaults. Secrets are references to
        # their files. Requires the rights of changing calls, because the settings name files.
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
        # critical. With `level`, first sets the level until the daemon ends; the level `settings`
        # restores the configured level. A call with `level` is a changing call.
        # + settings-level: string             the level of the settings or the command line
        method LogLevel(level: ?string) -> (level: string)

        # Sends all names to the DNS servers of the network, so that the login page of a captive
        # portal opens. Exceptions: names in `hosts`, special names, names in routing domains of
        # links, and names of routes with `fallback: none`. Ends after `for-seconds` (1 to 1800,
        # default 180), or immediately with `off`. Returns Failed if the network offers no DNS
        # server, or with `portal: off`. A changing call.
        # + for-seconds: ?int                  in the request
        method Portal(off: ?bool) -> (active: bool, seconds: ?int, servers: []string)
        """
}
