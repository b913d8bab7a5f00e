// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

struct CompletionVerb: ParsableCommand {
    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish

        var inParser: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the completion script for a shell.",
        discussion: """
            EXAMPLES
              source <(httpdnsctl completion bash)
              httpdnsctl completion zsh >~/.zfunc/_httpdnsctl
              httpdnsctl completion fish >~/.config/fish/completions/httpdnsctl.fish
            """
    )

    @Argument(help: "Shell: bash, zsh or fish.")
    var shell: Shell

    func run() throws { try Output.write(Httpdnsctl.completionScript(for: shell.inParser) + "\n") }
}
