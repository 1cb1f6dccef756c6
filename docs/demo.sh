#!/bin/sh
# The main job in a scratch folder: a bare hub, two agents, a claim, a refusal, a blocked commit, a sync, a verify.
set -u
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
trap 'exit 130' INT TERM
# Nothing of the user's own configuration, identity or keys is read or written.
unset $(git rev-parse --local-env-vars) GIT_COORD_AGENT GIT_COORD_SESSION GIT_COORD_MODE GIT_COORD_BYPASS SSH_AUTH_SOCK
export HOME="$here/home" XDG_STATE_HOME="$here/state" XDG_CONFIG_HOME="$here/config"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$here/gitconfig" GIT_EDITOR=false
mkdir "$HOME"
git config --global user.name Demo
git config --global user.email demo@example.com
git config --global init.defaultBranch main
git config --global advice.detachedHead false

failed=0
tell() { printf '\n# %s\n' "$*"; }

run() { # run EXPECTED-STATUS COMMAND...: show a command as typed, its output, and its status when that is the point
  expected=$1
  shift
  printf '\n%s $' "$who"
  for word in "$@"; do
    case $word in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  echo
  "$@" 2>&1
  status=$?
  [ "$status" = 0 ] || echo "exit $status"
  [ "$status" = "$expected" ] || { echo "EXPECTED exit $expected" && failed=1; }
}

git init -q --bare "$here/hub"
git clone -q "$here/hub" "$here/alpha" 2>/dev/null
cd "$here/alpha" || exit 1
mkdir -p src/lexer
echo 'parse = None' >src/parser.py
echo 'scan = None' >src/lexer/scan.py
echo 'hello' >README.md
git add . && git commit -qm first && git push -q origin main
git clone -q "$here/hub" "$here/beta"

tell 'alpha sets up its clone, which founds the ledger at the remote, and claims a file and a folder'
who=alpha
run 0 git coord init --agent alpha
run 0 git coord hooks install
run 0 git coord claim src/parser.py src/lexer -m "fix string escapes"

cd "$here/beta" || exit 1
tell 'beta asks for a file in that folder and is refused; it edits all the same, and the hook refuses the commit'
who=beta
run 0 git coord init --agent beta
run 0 git coord hooks install
run 3 git coord claim src/lexer/scan.py README.md -m "unicode digits"
echo 'scan = 1' >src/lexer/scan.py
run 1 git commit -am "unicode digits"

cd "$here/alpha" || exit 1
tell 'alpha does its work, pushes it, and gives the claim back'
who=alpha
echo 'scan = 2' >src/lexer/scan.py
run 0 git commit -am "fix string escapes"
run 0 git push origin HEAD:main
run 0 git coord release --all --reason merged
run 0 git coord sync

cd "$here/beta" || exit 1
tell 'now it is beta who gets the file'
who=beta
git stash -q
run 0 git pull -q --rebase origin main
run 0 git coord claim src/lexer/scan.py -m "unicode digits"
run 0 git coord status
run 0 git coord log -n 5

tell 'CI finds nothing against what alpha pushed'
git clone -q "file://$here/hub" "$here/ci"
cd "$here/ci" || exit 1
who=ci
run 0 git coord verify HEAD~1..HEAD

cd "$here/alpha" || exit 1
tell 'alpha goes past both hooks; CI names commit, path and holder, from a clone of depth 1'
who=alpha
echo 'scan = 3' >src/lexer/scan.py
run 0 git commit --no-verify -am "past the hook"
run 0 git push --no-verify origin HEAD:topic
git clone -q --depth 1 --branch topic "file://$here/hub" "$here/ci2"
cd "$here/ci2" || exit 1
who=ci
run 3 git coord verify

[ "$failed" = 0 ] && printf '\nall as expected\n'
exit "$failed"
