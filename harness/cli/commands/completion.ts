/** `muster completion`: prints a shell script that asks the installed Muster at each Tab. */
import process from 'node:process';
import { command, OPTION } from '../options.ts';

// Each script sets SHELL, which tells yargs the format, and drops error messages, which would garble the prompt.

const bash = `_muster() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$(SHELL=bash muster --get-yargs-completions \\
    "\${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)" -- "$word"))
}
complete -o bashdefault -o default -F _muster muster
`;

const zsh = `#compdef muster
_muster() {
  local answer="$(SHELL=zsh muster --get-yargs-completions "\${(@Q)words[1,CURRENT]}" 2>/dev/null)"
  local -a found=("\${(@f)answer}")
  if [[ -n $answer ]]; then _describe muster found; else _files; fi
}
if [[ \${zsh_eval_context[-1]} == loadautofunc ]]; then _muster "$@"; else compdef _muster muster; fi
`;

const fish = `function __muster_complete
  set -l word (commandline -ct)
  set -l found (SHELL=fish muster --get-yargs-completions (commandline -opc) "$word" 2>/dev/null)
  if test -n "$found"
    printf '%s\\n' $found
  else
    __fish_complete_path "$word"
  end
end
complete -c muster -f -a '(__muster_complete)'
`;

const SCRIPTS = { bash, zsh, fish };
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

export const completion = command({
  options: {
    // $SHELL is no default, because it names the login shell and not the running shell.
    shell: OPTION.oneOf(SHELLS, 'Shell that will read the script', { positional: true, required: true }),
  },
  examples: [
    ['muster completion bash >> ~/.bashrc', 'bash'],
    ['muster completion zsh > $fpath[1]/_muster', 'zsh, whose ~/.zshrc calls compinit'],
    ['muster completion fish > ~/.config/fish/completions/muster.fish', 'fish'],
  ],
  epilogue: 'Each example installs the script once, for new shells. Later versions of Muster need no other one.',
  run({ shell }) {
    process.stdout.write(SCRIPTS[shell]);
    return 0;
  },
});
