// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Go's resolver without the C library.
    static let go = go("go", noData: "no-name")

    static let cgo = go("cgo", noData: "no-data")

    private static func go(_ resolver: String, noData: String) -> Client {
        Client(
            command: ["env", "GODEBUG=netdns=\(resolver)"],
            script: """
                package main

                import (
                    "context"
                    "errors"
                    "fmt"
                    "net"
                    "os"
                    "strings"
                )

                func answer(kind, name string) ([]string, error) {
                    resolver, background := net.DefaultResolver, context.Background()
                    switch kind {
                    case "pointer":
                        names, err := resolver.LookupAddr(background, name)
                        for i := range names {
                            names[i] = strings.TrimSuffix(names[i], ".")
                        }
                        return names, err
                    case "texts":
                        texts, err := resolver.LookupTXT(background, name)
                        return []string{fmt.Sprint(len(texts))}, err
                    }
                    network := map[string]string{"ipv4": "ip4", "ipv6": "ip6", "both": "ip"}[kind]
                    addresses, err := resolver.LookupIP(background, network, name)
                    var found []string
                    for _, address := range addresses {
                        found = append(found, address.String())
                    }
                    return found, err
                }

                func main() {
                    for _, wish := range os.Args[1:] {
                        words := strings.Fields(wish)
                        found, err := answer(words[0], words[1])
                        var reason *net.DNSError
                        if errors.As(err, &reason) && reason.IsNotFound {
                            fmt.Println("no-name")
                        } else if err != nil && strings.Contains(err.Error(), "ddress") {
                            fmt.Println("no-data")
                        } else if err != nil {
                            fmt.Println(err)
                        } else {
                            fmt.Println(strings.Join(found, " "))
                        }
                    }
                }
                """,
            compiler: """
                mv "$1" "$1.go"
                export GO111MODULE=off GOFLAGS= GOCACHE="${TMPDIR:-/tmp}/httpdnsd-go-cache"
                go build -o "$2" "$1.go"
                """,
            noData: noData
        )
    }

    static let musl = Client(
        command: [],
        script: """
            #include <arpa/inet.h>
            #include <netdb.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/socket.h>

            static void pointer(const char *name) {
                struct sockaddr_in address = { .sin_family = AF_INET };
                char host[256];
                inet_pton(AF_INET, name, &address.sin_addr);
                int code = getnameinfo((void *)&address, sizeof address, host, sizeof host,
                                       NULL, 0, NI_NAMEREQD);
                puts(code ? gai_strerror(code) : host);
            }

            int main(int count, char **wishes) {
                for (int i = 1; i < count; i++) {
                    char *name = strchr(wishes[i], ' ') + 1;
                    if (!strncmp(wishes[i], "pointer", 7)) { pointer(name); continue; }
                    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *one;
                    if (!strncmp(wishes[i], "ipv4", 4)) hints.ai_family = AF_INET;
                    if (!strncmp(wishes[i], "ipv6", 4)) hints.ai_family = AF_INET6;
                    int code = getaddrinfo(name, NULL, &hints, &list);
                    if (code) {
                        puts(code == EAI_NONAME ? "no-name" : gai_strerror(code));
                        continue;
                    }
                    for (one = list; one; one = one->ai_next) {
                        char text[64];
                        getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text,
                                    NULL, 0, NI_NUMERICHOST);
                        printf("%s ", text);
                    }
                    puts("");
                }
            }
            """,
        compiler: #"musl-gcc -static -x c -o "$2" "$1""#,
        noData: "no-name"
    )

    /// Mono's `System.Net.Dns`, which uses getaddrinfo.
    static let mono = Client(
        command: ["mono"],
        script: """
            using System;
            using System.Linq;
            using System.Net;
            using System.Net.Sockets;

            class Client {
                static string Answer(string kind, string name) {
                    if (kind == "pointer") return Dns.GetHostEntry(IPAddress.Parse(name)).HostName;
                    try {
                        var found = Dns.GetHostAddresses(name).Where(one => kind == "both"
                            || (one.AddressFamily == AddressFamily.InterNetwork) == (kind == "ipv4"));
                        return found.Any() ? string.Join(" ", found) : "no-data";
                    } catch (SocketException error) {
                        return error.SocketErrorCode == SocketError.HostNotFound
                            ? "no-name" : error.ToString();
                    }
                }

                static void Main(string[] wishes) {
                    foreach (var wish in wishes) {
                        var words = wish.Split(' ');
                        Console.WriteLine(Answer(words[0], words[1]));
                    }
                }
            }
            """,
        compiler: #"mcs -out:"$2" "$1""#
    )

    /// Resolver of the Rust project Hickory, in a version with the former name Trust-DNS.
    static let hickory = Client(
        command: [],
        script: """
            use std::env;
            use trust_dns_resolver::error::ResolveErrorKind;
            use trust_dns_resolver::proto::{op::ResponseCode, rr::RecordType};
            use trust_dns_resolver::Resolver;

            fn main() {
                let resolver = Resolver::from_system_conf().unwrap();
                for wish in env::args().skip(1) {
                    let (kind, name) = wish.split_once(' ').unwrap();
                    if kind == "pointer" {
                        let names = resolver.reverse_lookup(name.parse().unwrap()).unwrap();
                        println!("{}", names.iter().next().unwrap().to_utf8().trim_end_matches('.'));
                        continue;
                    }
                    let types = match kind {
                        "ipv4" => vec![RecordType::A],
                        "ipv6" => vec![RecordType::AAAA],
                        "texts" => vec![RecordType::TXT],
                        _ => vec![RecordType::A, RecordType::AAAA],
                    };
                    let mut found = vec![];
                    let mut reason = "no-data".to_string();
                    for t in types {
                        match resolver.lookup(name, t) {
                            Ok(answer) => found.extend(answer.iter().map(|data| data.to_string())),
                            Err(error) => match error.kind() {
                                ResolveErrorKind::NoRecordsFound { response_code, .. } => {
                                    if *response_code == ResponseCode::NXDomain {
                                        reason = "no-name".to_string();
                                    }
                                }
                                _ => reason = error.to_string(),
                            },
                        }
                    }
                    if kind == "texts" {
                        println!("{}", found.len());
                    } else if found.is_empty() {
                        println!("{}", reason);
                    } else {
                        println!("{}", found.join(" "));
                    }
                }
            }
            """,
        compiler: """
            project=${TMPDIR:-/tmp}/httpdnsd-hickory
            mkdir -p "$project/src" "$project/.cargo"
            cp "$1" "$project/src/main.rs"
            cd "$project"
            cat >Cargo.toml <<'TEXT'
            [package]
            name = "client"
            version = "0.1.0"
            edition = "2018"
            [dependencies]
            trust-dns-resolver = "0.22"
            TEXT
            cat >.cargo/config.toml <<'TEXT'
            [source.crates-io]
            replace-with = "debian"
            [source.debian]
            directory = "/usr/share/cargo/registry"
            TEXT
            unset RUSTUP_TOOLCHAIN
            PATH=/usr/bin:/bin cargo build --offline --quiet
            cp target/debug/client "$2"
            """
    )

    /// BusyBox's nslookup, which has a resolver of its own.
    static let busybox = Client(
        command: ["sh"],
        script: """
            for wish in "$@"; do
                name=${wish#* }
                case $wish in
                    both*) types="-type=a -type=aaaa" ;;
                    ipv4*) types=-type=a ;;
                    ipv6*) types=-type=aaaa ;;
                    pointer*) types= ;;
                esac
                text=$(busybox nslookup $types $name 2>&1)
                case $wish in
                    pointer*) echo $(echo "$text" | sed -n 's/.*name = //p'); continue ;;
                esac
                found=$(echo "$text" | sed '1,/^$/d' | sed -n 's/^Address: //p')
                case $text in *NXDOMAIN*) found=no-name ;; esac
                echo ${found:-no-data}
            done
            """
    )
}
