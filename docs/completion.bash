# Tab completion in bash, of `python -m src.<command>` and `boardlab-<command>`: source docs/completion.bash
COMP_WORDBREAKS=${COMP_WORDBREAKS//=/} # env=t is one word

_boardlab() {
  local -a command=("${COMP_WORDS[0]}")
  if [[ $1 == *python* ]]; then
    [[ ${COMP_WORDS[1]} == -m && ${COMP_WORDS[2]} =~ ^(src|boardlab)\. && $COMP_CWORD -gt 2 ]] || return
    command+=(-m "${COMP_WORDS[2]}")
  fi
  local typed=${COMP_LINE:0:COMP_POINT} # Hydra expects the name of a program, which is one word
  typed="program${typed#"${command[*]}"}"
  local choices
  choices=$(COMP_LINE=$typed COMP_POINT=${#typed} "${command[@]}" -sc query=bash 2>/dev/null)
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o nospace -o default -F _boardlab python python3 $(compgen -c boardlab- | sort -u)
