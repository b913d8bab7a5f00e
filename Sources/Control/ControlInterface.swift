// SPDX-License-Identifier: Apache-2.0

/// The interface of the daemon, `io.httpdnsd.Control`.
package enum ControlInterface {
    /// The name of the interface.
    package static let name = "io.httpdnsd.Control"

    /// The methods of the interface.
    package enum Method: String, CaseIterable, Sendable {
        case status = "Status"
        case stats = "Stats"
        case flush = "Flush"
        case lookup = "Lookup"
        case version = "Version"

        /// The full name, as a call carries it.
        package var fullName: String { ControlInterface.name + "." + rawValue }

        /// Reads the full name of a method of this interface.
        package init?(fullName: String) {
            let prefix = ControlInterface.name + "."
            guard fullName.hasPrefix(prefix) else { return nil }
            self.init(rawValue: String(fullName.dropFirst(prefix.count)))
        }
    }
}

extension ControlInterface {
    /// The interface in Varlink's definition language, as `GetInterfaceDescription` returns it.
    ///
    /// That language has no hyphen in field names and our JSON has (settings, `--json` and metrics
    /// share one spelling), so hyphenated fields stand in comments, and a type that consists mostly
    /// of them is an `object`.  What is declared is exact, so `varlinkctl introspect` and code
    /// generators read this text; see <doc:Protocol>.
    package static let description = """
        # httpdnsd: see what it does, and change what it holds.
        #
        # Field names with a hyphen cannot be written in this language. They are listed in comments
        # as `+ name: type`, and are sent as written there. Clients pass over fields they do not
        # know; a call with a parameter that is not declared here is refused (InvalidParameter).
        interface io.httpdnsd.Control

        # ready: answers, and everything it asks is healthy; an operator's pause is healthy too
        # degraded: answers, and something in `problems` needs a look
        type State (ready, degraded, starting, stopping)

        # down: measured. paused: not asked, because an operator or rejected credentials said so
        type Health (up, degraded, down, paused)

        # transport: udp or tcp. origin: settings or socket-activation
        type Listener (address: string, transport: string, origin: string)

        # + latency-ms-p50: ?float             median time of a call
        # + last-error: ?string
        # + last-error-age-seconds: ?int
        type VendorServer (
          address: string,
          current: bool,
          state: Health,
          calls: int,
          failures: int
        )

        # + billable-calls: int
        # + clock-skew-seconds: ?int           how far the vendor's clock is ahead of ours
        type VendorStatus (
          name: string,
          kind: string,
          channel: string,
          state: Health,
          servers: []VendorServer,
          calls: int
        )

        # + latency-ms-p50: ?float
        # + last-error: ?string
        # + last-error-age-seconds: ?int
        type UpstreamStatus (
          name: string,
          url: string,
          protected: bool,
          state: Health,
          calls: int,
          failures: int
        )

        # + limit-octets: int
        type CacheUsage (entries: int, octets: int)

        # One screen: is all well, and if not, why.
        # + uptime-seconds: int
        # + resolv-conf: (points-here: ?bool, nameservers: []string)
        method Status() -> (
          state: State,
          version: string,
          pid: int,
          listeners: []Listener,
          vendors: []VendorStatus,
          upstreams: []UpstreamStatus,
          cache: CacheUsage,
          problems: []string
        )

        # Every table divides all queries: its numbers sum to `total`.
        # + by-source: [string]int             cache, vendor, upstream, local, refused, ...
        # + by-rcode: [string]int              noerror, nodata, nxdomain, servfail, ..., none
        # + by-transport: [string]int          udp, tcp
        type QueryStats (total: int)

        # + p50-us, p90-us, p99-us, p999-us, max-us: int
        type Latency (count: int)

        # + limit-octets, index-octets, negative-entries: int
        type CacheStats (
          entries: int,
          octets: int,
          hits: int,
          misses: int,
          insertions: int,
          evictions: int,
          expired: int
        )

        # + billable-calls, connections-opened, connections-reused: int
        type VendorStats (
          name: string,
          calls: int,
          successes: int,
          empty: int,
          failures: [string]int,
          avoided: [string]int
        )

        # + tcp-retries: int
        type UpstreamStats (
          name: string,
          protected: bool,
          queries: int,
          successes: int,
          failures: [string]int
        )

        # + in-flight: int
        type MissStats (merged: int, dropped: int)

        # + rss-octets: int
        # + cpu-seconds: float
        type ProcessStats (descriptors: int, threads: int)

        # All counters. With `reset` (a changing call: see Denied) queries, latencies and packets
        # start from zero after this reply; all others count from the daemon's start.
        # + since-seconds: int                 how long they have been counting
        method Stats(reset: ?bool) -> (
          queries: QueryStats,
          latency: (client: Latency, cache: Latency, vendor: Latency, upstream: Latency),
          cache: CacheStats,
          vendors: []VendorStats,
          upstreams: []UpstreamStats,
          packets: [string]int,
          misses: MissStats,
          process: ProcessStats
        )

        # Removes entries of the cache and tells how many. Exactly one of `all`, `name`, `tree` and
        # `negative`; `type` goes with `name`. Removing nothing is no error. A changing call.
        method Flush(
          all: ?bool,
          name: ?string,
          type: ?string,
          tree: ?string,
          negative: ?bool
        ) -> (removed: int)

        # rcode: in lower case, `nodata` for NOERROR without records
        # + age-seconds: int                   since the answer came
        # + ttl-seconds: int                   until it is stale; 0 if it is
        type CachedEntry (
          name: string,
          type: string,
          rcode: string,
          source: string,
          server: string,
          stale: bool,
          hits: int,
          variant: string,
          records: []string
        )

        # What the cache holds of a name. Causes no traffic. Nothing held: NotFound.
        method Lookup(name: string, type: ?string) -> (entries: []CachedEntry)

        # The daemon and the libraries it runs with.
        method Version() -> (
          version: string,
          swift: string,
          libcurl: string,
          openssl: string,
          libyaml: string
        )

        # Nothing matches.
        error NotFound (what: string)

        # A parameter of the right type with a value the method does not take.
        error InvalidArgument (argument: string, reason: string)

        # Changing calls are for root, the daemon's own user and the group of the socket.
        error Denied (reason: string)

        # The call was right and went wrong.
        error Failed (reason: string)

        """
}

extension ServiceInterface {
    /// The text of `org.varlink.service`.
    package static let description = """
        # The Varlink Service Interface is provided by every varlink service. It
        # describes the service and the interfaces it implements.
        interface org.varlink.service

        # Get a list of all the interfaces a service provides and information
        # about the implementation.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Get the description of an interface that is implemented by this service.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The requested interface was not found.
        error InterfaceNotFound (interface: string)

        # The requested method was not found
        error MethodNotFound (method: string)

        # The interface defines the requested method, but the service does not
        # implement it.
        error MethodNotImplemented (method: string)

        # One of the passed parameters is invalid.
        error InvalidParameter (parameter: string)

        # Client is denied access
        error PermissionDenied ()

        # Method is expected to be called with 'more' set to true, but wasn't
        error ExpectedMore ()

        """
}
