// SPDX-License-Identifier: Apache-2.0

/// DNS client program.
///
/// Each argument consists of a keyword and a name, or of `pointer` and an address. The keywords:
/// `both` (A and AAAA), `ipv4`, `ipv6` and `texts` (TXT). For each argument, the program prints a
/// line: the addresses, the number of texts, the name, `no-data` or `no-name`.
struct Client: Sendable {
    let command: [String]

    let script: String

    /// Shell command that compiles the file `$1` to the program `$2`; empty for a script.
    var compiler = ""

    var noData = "no-data"

    func ask(_ wishes: [String], in namespace: Namespace) throws -> [Set<String>] {
        let scratch = try Scratch()
        var file = try scratch.write(script, to: "client")
        if !compiler.isEmpty {
            let source = file
            file = scratch.file("program")
            let compiled = try run("sh", ["-ec", compiler, "sh", source, file], within: 600)
            guard compiled.status == 0 else {
                throw Child.Failure(description: "\(compiler): \(compiled.errors)")
            }
        }
        let arguments = command + [file] + wishes
        let end = try namespace.run(arguments[0], Array(arguments.dropFirst()))
        guard end.status == 0 else { throw Child.Failure(description: "\(command): \(end.errors)") }
        return end.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { Set($0.split(separator: " ").map(String.init)) }
    }

    static let dig = Client(command: ["sh"], script: "ask='dig -r'\n" + tools)

    static let kdig = Client(command: ["sh"], script: "ask='kdig'\n" + tools)

    /// BIND's library, without validation.
    static let delv = Client(command: ["sh"], script: "ask='delv -i'\n" + tools)

    private static let tools = """
        for wish in "$@"; do
            name=${wish#* }
            case $wish in
                both*) types="A AAAA" ;;
                ipv4*) types=A ;;
                ipv6*) types=AAAA ;;
                texts*) types=TXT ;;
                pointer*) types=PTR name="-x $name" ;;
            esac
            found= said=
            for type in $types; do
                case $type in PTR) text=$($ask $name) ;; *) text=$($ask $name $type) ;; esac
                case $text in
                    *NXDOMAIN*) said=no-name ;;
                    *'status: NOERROR'* | *NXRRSET*) said=${said:-no-data} ;;
                    *' answer'*) ;;
                    *) said="$said $text" ;;
                esac
                found="$found $(echo "$text" | awk -v t=$type '!/^;/ && $4 == t { print $5 }')"
            done
            case $wish in
                texts*) echo $(echo "$found" | grep -c -- -) ;;
                pointer*) echo ${found%.} ;;
                *) if [ -n "${found# }" ] && [ "$found" != "  " ]; then echo $found; else echo $said; fi ;;
            esac
        done
        """

    /// getent, which prints IPv4-mapped addresses if a name has no IPv6 addresses.
    static let getent = Client(
        command: ["sh"],
        script: """
            for wish in "$@"; do
                name=${wish#* }
                case $wish in
                    both*) text=$(getent ahosts $name) ;;
                    ipv4*) text=$(getent ahostsv4 $name) ;;
                    ipv6*) text=$(getent ahostsv6 $name) ;;
                    pointer*) text=$(getent hosts $name) ;;
                esac
                case $? in
                    0) ;;
                    2) echo no-name; continue ;;
                    *) exit 1 ;;
                esac
                case $wish in pointer*) field=2 ;; *) field=1 ;; esac
                echo $(echo "$text" | awk -v f=$field '{ print $f }')
            done
            """,
        noData: "no-name"
    )

    static let python = Client(
        command: ["python3"],
        script: """
            import socket, sys
            families = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6, "both": socket.AF_UNSPEC}
            reasons = {socket.EAI_NODATA: "no-data", socket.EAI_NONAME: "no-name"}
            for wish in sys.argv[1:]:
                kind, name = wish.split()
                try:
                    if kind == "pointer":
                        print(socket.gethostbyaddr(name)[0])
                    else:
                        found = socket.getaddrinfo(name, 443, families[kind], socket.SOCK_STREAM)
                        print(*(entry[4][0] for entry in found))
                except socket.gaierror as error:
                    print(reasons.get(error.errno, error))
            """
    )

    /// Node's `lookup`, which uses getaddrinfo and reports the same error for all failures.
    static let nodeLookup = Client(
        command: ["node"],
        script: """
            const dns = require("node:dns").promises
            const families = { ipv4: 4, ipv6: 6, both: 0 }
            async function answer(kind, name) {
                if (kind == "pointer") return (await dns.lookupService(name, 443)).hostname
                const all = await dns.lookup(name, { all: true, family: families[kind] })
                return all.map((one) => one.address).join(" ")
            }
            async function main() {
                for (const wish of process.argv.slice(2)) {
                    console.log(await answer(...wish.split(" ")).catch(
                        (error) => error.code == "ENOTFOUND" ? "no-name" : error))
                }
            }
            main()
            """,
        noData: "no-name"
    )

    static let java = Client(
        command: beanShell,
        script: """
            import java.net.*;
            for (String wish : bsh.args) {
                kind = wish.split(" ")[0]; name = wish.split(" ")[1];
                if (kind.equals("pointer")) {
                    print(InetAddress.getByName(name).getCanonicalHostName());
                    continue;
                }
                found = "";
                try {
                    for (InetAddress one : InetAddress.getAllByName(name)) {
                        isFour = one instanceof Inet4Address;
                        if (kind.equals(isFour ? "ipv6" : "ipv4")) continue;
                        text = one.getHostAddress();
                        // Java writes all eight groups.
                        found += " " + text.replaceAll("(:0)+:", "::");
                    }
                    print(found.equals("") ? "no-data" : found);
                } catch (UnknownHostException error) {
                    print(error.getMessage().endsWith("not known") ? "no-name" : error);
                }
            }
            """
    )

    /// Node's `resolve4` and similar functions, which use c-ares.
    static let nodeResolve = Client(
        command: ["node"],
        script: """
            const dns = require("node:dns").promises
            async function answer(kind, name) {
                switch (kind) {
                case "ipv4": return (await dns.resolve4(name)).join(" ")
                case "ipv6": return (await dns.resolve6(name)).join(" ")
                case "texts": return (await dns.resolveTxt(name)).length
                case "pointer": return (await dns.reverse(name)).join(" ")
                }
                const both = [dns.resolve4(name), dns.resolve6(name)]
                const all = await Promise.allSettled(both)
                const found = all.flatMap((one) => one.value ?? [])
                if (found.length == 0) throw all[0].reason
                return found.join(" ")
            }
            const reasons = { ENOTFOUND: "no-name", ENODATA: "no-data" }
            async function main() {
                for (const wish of process.argv.slice(2)) {
                    console.log(await answer(...wish.split(" ")).catch(
                        (error) => reasons[error.code] ?? error))
                }
            }
            main()
            """
    )

    /// JNDI, Java's naming and directory interface, which has its own DNS resolver.
    static let javaDirectory = Client(
        command: beanShell,
        script: """
            import javax.naming.*;
            import javax.naming.directory.*;
            settings = new java.util.Hashtable();
            settings.put("java.naming.factory.initial", "com.sun.jndi.dns.DnsContextFactory");
            settings.put("java.naming.provider.url", "dns:");
            DirContext context = new InitialDirContext(settings);
            String[] types(String kind) {
                if (kind.equals("both")) return new String[] {"A", "AAAA"};
                if (kind.equals("texts")) return new String[] {"TXT"};
                if (kind.equals("pointer")) return new String[] {"PTR"};
                return new String[] {kind.equals("ipv4") ? "A" : "AAAA"};
            }
            for (String wish : bsh.args) {
                kind = wish.split(" ")[0]; name = wish.split(" ")[1];
                if (kind.equals("pointer")) {
                    part = name.split("[.]");
                    name = part[3] + "." + part[2] + "." + part[1] + "." + part[0];
                    name += ".in-addr.arpa";
                }
                found = ""; count = 0;
                try {
                    // One query per type: several types would become a query for ANY (RFC 8482).
                    for (String type : types(kind)) {
                        attribute = context.getAttributes(name, new String[] {type}).get(type);
                        if (attribute == null) continue;
                        count = attribute.size();
                        for (i = 0; i < count; i++) found += " " + attribute.get(i);
                    }
                    if (kind.equals("texts")) print(count);
                    else if (found.equals("")) print("no-data");
                    else print(found.replaceAll("(:0)+:", "::").replaceAll("[.]$", ""));
                } catch (NameNotFoundException error) {
                    print("no-name");
                }
            }
            """
    )

    static let dnspython = Client(
        command: ["python3"],
        script: """
            import sys, dns.resolver, dns.reversename
            types = {"ipv4": ["A"], "ipv6": ["AAAA"], "both": ["A", "AAAA"], "texts": ["TXT"]}
            def look(name, type):
                try:
                    return [str(one) for one in dns.resolver.resolve(name, type, search=True)]
                except dns.resolver.NoAnswer:
                    return []
            for wish in sys.argv[1:]:
                kind, name = wish.split()
                try:
                    if kind == "pointer":
                        found = dns.resolver.resolve(dns.reversename.from_address(name), "PTR")
                        print(str(found[0]).rstrip("."))
                        continue
                    found = [one for type in types[kind] for one in look(name, type)]
                    print(len(found) if kind == "texts" else " ".join(found) or "no-data")
                except dns.resolver.NXDOMAIN:
                    print("no-name")
            """
    )

    private static let beanShell = [
        "java", "-XX:TieredStopAtLevel=1", "-cp", "/usr/share/java/bsh.jar", "bsh.Interpreter",
    ]
}
