// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    /// The part of ``description`` about pausing, settings and the log.
    static let changes = """
        # Sends no more to a vendor or an upstream until Resume: the next one, or the fallback, answers.
        # Calls under way go on. Exactly one of `vendor`, `upstream` and `name`, which is either. None
        # of this name: NotFound. A changing call.
        # + in-flight: int
        method Pause(vendor: ?string, upstream: ?string, name: ?string) -> (
          vendor: ?string,
          upstream: ?string,
          changed: bool,
          rest: ?Rest
        )

        # Asks a vendor or an upstream again, also a vendor that refused the account a moment ago. A
        # changing call.
        # + in-flight: int
        method Resume(vendor: ?string, upstream: ?string, name: ?string) -> (
          vendor: ?string,
          upstream: ?string,
          changed: bool,
          rest: ?Rest
        )

        # line, column: from 1; 0 if the whole file is meant, or what it asks for does not work
        type Complaint (file: string, line: int, column: int, message: string, hint: ?string)

        # path: entries by their names, routes by their first domains
        # old, new: in one line of YAML; of a secret that has another value neither
        type Change (
          path: string,
          kind: (added, removed, changed, secret),
          old: ?string,
          new: ?string
        )

        # Reads the settings again and puts them in force, all of them or none: `applied` says
        # which. A changing call; it takes as long as reading the files does.
        # notes: what the operator should know besides, such as that credentials are of the start
        # + needs-restart: []string            options whose old values stay until then
        # + removed-answers: int               from the cache: not right any more
        method Reload() -> (
          applied: bool,
          problems: []Complaint,
          warnings: []Complaint,
          changes: []Change,
          notes: ?[]string
        )

        # What Reload would say of the file as it is now, or of a `text` which is called `file`.
        # Changes nothing, and does not try whether addresses are free. `applied` is false. Since
        # settings name files that the daemon then reads, it is for those who may change things.
        # + needs-restart: []string
        # + removed-answers: int               always 0
        method Check(text: ?string, file: ?string) -> (
          applied: bool,
          problems: []Complaint,
          warnings: []Complaint,
          changes: []Change,
          notes: ?[]string
        )

        # The settings that are in force, defaults included, as YAML that can be read again. Secrets
        # stay where they are kept. Allowed as changing calls are, as settings name users' files.
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

        # The routes that are in force, or the one of a name with the `pattern` that covers it. No
        # route of it: NotFound.
        method Routes(name: ?string) -> (routes: []Route, pattern: ?string)

        # The least important level that is logged: trace, debug, info, notice, warning, error or
        # critical. With `level` it is changed, until the daemon ends or `settings` gives it back to
        # the settings; that is a changing call.
        # + settings-level: string             that of the settings or the command line
        method LogLevel(level: ?string) -> (level: string)
        """
}
