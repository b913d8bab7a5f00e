// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `httpdnsctl completion`, which asks nobody: it is about this program.
struct CompletionVerb: ParsableCommand {
    /// A shell that completes command lines.
    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish

        /// The same, as the parser calls it.
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
        abstract: "Print what a shell needs to complete this program's command lines.",
        discussion: """
            EXAMPLES
              source <(httpdnsctl completion bash)
              httpdnsctl completion zsh >~/.zfunc/_httpdnsctl
              httpdnsctl completion fish >~/.config/fish/completions/httpdnsctl.fish
            """
    )

    @Argument(help: "The shell: bash, zsh or fish.")
    var shell: Shell

    func run() throws {
        try Output.write(Httpdnsctl.completionScript(for: shell.inParser) + "\n")
    }
}
