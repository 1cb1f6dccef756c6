# git coord for shell scripts and for agents without hooks. Source it; it works in any POSIX sh.
#
#   . "$(git coord adapter shell)"
#   coord_begin src/parser.py docs || exit      # preflight and claim; all of it or nothing
#   …                                           # the claim is renewed meanwhile
#   coord_end                                   # or simply exit: the trap gives it back
#
# COORD_PURPOSE  what for, one line          COORD_RENEW  seconds between renewals, 300
# COORD_TRIES    tries while refused, 3      COORD_PAUSE  seconds between two tries, 60

coord_begin() {
  coord_try=1 coord_status=0
  git coord preflight "$@" >&2 || coord_status=$?
  case $coord_status in 0 | 3) ;; *) return "$coord_status" ;; esac # held: the claim says so, and may wait
  # Set before there is anything to give back: a signal may come at any time.
  trap 'coord_end' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  while :; do
    coord_status=0
    git coord claim -m "${COORD_PURPOSE:-a script}" -- "$@" >&2 || coord_status=$?
    [ "$coord_status" = 3 ] && [ "$coord_try" -lt "${COORD_TRIES:-3}" ] || break
    coord_try=$((coord_try + 1))
    sleep "${COORD_PAUSE:-60}"
  done
  if [ "$coord_status" != 0 ]; then
    trap - EXIT HUP INT TERM
    return "$coord_status"
  fi
  coord_held=1 coord_paths=$(printf '%s\n' "$@")
  # A process that renews until it is told to stop, or this shell is gone. Without our stdout: nobody must wait for it.
  coord_renew "$$" "$@" >/dev/null 2>&1 &
  coord_renewer=$!
}

coord_renew() {
  coord_shell=$1
  shift
  trap 'kill "$coord_nap" 2>/dev/null; exit' TERM
  while kill -0 "$coord_shell" 2>/dev/null; do
    sleep "${COORD_RENEW:-300}" &
    coord_nap=$!
    wait "$coord_nap"
    kill -0 "$coord_shell" 2>/dev/null && git coord renew -- "$@"
  done
}

coord_end() {
  coord_exit=$?
  trap - EXIT HUP INT TERM
  [ -z "${coord_renewer:-}" ] || kill "$coord_renewer" 2>/dev/null
  # Only what was claimed here: the agent may hold more.
  [ -z "${coord_held:-}" ] || printf '%s\n' "$coord_paths" | git coord release --stdin >&2
  coord_renewer='' coord_held=''
  return "$coord_exit"
}
