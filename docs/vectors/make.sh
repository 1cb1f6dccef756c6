#!/bin/sh
# Test vectors by git and ssh-keygen alone: `make.sh [FOLDER]` writes sha1/, sha256/ and refused/ (see README.md).
# A second implementation that knows no rules: each step says in so many words what its ledger commit holds.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here}" && cd "${1:-$here}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset SSH_AUTH_SOCK $(git rev-parse --local-env-vars)
export HOME="$work" XDG_CONFIG_HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CEILING_DIRECTORIES="$work"
export GIT_AUTHOR_NAME=git-coord GIT_AUTHOR_EMAIL=git-coord GIT_COMMITTER_NAME=git-coord GIT_COMMITTER_EMAIL=git-coord
cp -r "$here/keys" "$work/keys" && chmod 600 "$work"/keys/* # ssh-keygen refuses a key that others can read
repo=00000000-0000-4000-8000-000000000001
no_base='"base":{"default":null,"head":null,"upstream":null}'

key() { cut -d ' ' -f 1,2 "$work/keys/$1.pub"; }
sha256() { if command -v sha256sum > "$work/log"; then sha256sum; else shasum -a 256; fi; }
stamp() { printf '2026-01-01T%02d:%02d:00Z' $(($1 / 60)) $(($1 % 60)); }
nonce() { printf %032x "$1"; }
object() { printf '%s\n' "$@" | sort | paste -sd , - | sed 's/.*/{&}/'; } # members, in any order
signature() { ssh-keygen -q -Y sign -n "${2:-git-coord}" -f "$work/keys/$1" 2> "$work/log"; } # KEY [NAMESPACE]
sign() { tee "$work/statement" && signature "$@" < "$work/statement"; }
put() { git update-index --add --cacheinfo "100644,$(git hash-object -w --stdin),$1"; }
drop() { git rm -rqf --cached -- "$1"; }
common() { # AGENT SEQ MINUTE NONCE: what every statement has, a member a line
	eval "session=\$session_$1"
	printf '%s\n' '"v":3' "\"repo\":\"$repo\"" "\"agent\":\"$1\"" "\"session\":\"$session\"" "\"seq\":$2"
	printf '%s\n' "\"at\":\"$(stamp "$3")\"" "\"nonce\":\"$(nonce "$4")\"" "\"head\":${head:+\"}${head:-null}${head:+\"}"
}
op() { # AGENT KEY KIND MEMBER...: operation number $n of the ledger; its number is also its seq, minute and nonce
	n=$((n + 1))
	minute=${at:-$n} agent=$1 by=$2 kind=$3
	[ "$minute" -le "$newest" ] || newest=$minute
	shift 3
	common "$agent" "$n" "$minute" "$n" > "$work/common"
	{ cat "$work/common" && printf '%s\n' "\"kind\":\"$kind\"" "$@"; } > "$work/members"
	sort "$work/members" | paste -sd , - | sed 's/.*/{&}/' | sign "$by" > "$work/record"
	cp "$work/record" "$work/new/$(printf %04d "$placed").record"
	put "op/$(printf %04d "$placed")" < "$work/record"
	placed=$((placed + 1))
}
counts() { # what every operation changes: the author's file (after a join) and the counters
	eval "keys=\${keys_$agent-} session=\$session_$agent"
	[ -z "$keys" ] || object "\"at\":\"$(stamp "$minute")\"" "\"keys\":[$keys]" "\"seq\":$n" "\"session\":\"$session\"" | put "agents/$agent"
	object "\"at\":\"$(stamp "$minute")\"" "\"ops\":$n" "\"queue\":$queue" "\"token\":$token" | put counters
}
claim() { # AGENT ITEMS STAMPS NOT_AFTER [WAIT_UNTIL]
	eval "signer=\$signer_$1"
	op "$1" "$signer" claim "$no_base" "\"items\":[$2]" '"lease":"standard"' "\"not_after\":$4" '"purpose":"a \"story\""' \
		"\"stamps\":$3" '"ttl":7200' "\"wait_until\":${5:-null}"
}
grant() { # HOLDER OP STAMPS UNATTENDED: what a new claim gets from the ledger, dated as the operation being placed
	token=$((token + 1))
	object "\"at\":\"$(stamp "$minute")\"" "\"holder\":\"$1\"" "\"op\":\"$(nonce "$2")\"" "\"stamps\":$3" \
		"\"token\":$token" "\"unattended\":$4" | put "claims/0/$token/grant"
}
granted() { # STAMPS
	grant "$agent" "$n" "$1" false
	put "claims/0/$token/claim" < "$work/record"
}
release() { # AGENT CLAIM ITEMS [TO [LANDED]]
	eval "signer=\$signer_$1"
	op "$1" "$signer" release '"reason":"done"' "\"targets\":[{\"claim\":\"$(nonce "$2")\",\"items\":$3}]" "\"to\":${4:-null}" \
		"\"landed\":${5:-null}"
}
waits() { queue=$((queue + 1)) && put "waiting/0/$queue" < "$work/record"; }
copied() { git cat-file blob ":$1" > "$work/copied" && put "$2" < "$work/copied"; } # FROM TO
step() { # NAME LINE...: commit what the index holds under this message, and write it down
	export GIT_AUTHOR_DATE="@$((1767225600 + newest * 60)) +0000"
	export GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
	dir="$out/$format/$1"
	shift
	head=$(printf '%s\n' "$@" | git commit-tree "$(git write-tree)" ${head:+-p "$head"})
	mkdir -p "$dir" && mv "$work"/new/* "$dir"
	echo "$head" > "$dir/id"
	git cat-file commit "$head" > "$dir/commit"
	git ls-tree -rt "$head" > "$dir/tree"
	git ls-tree -r --name-only "$head" | grep -E '^(format|counters|epoch|restored|agents/.*|expelled/.*)$|/grant$' | while read -r path; do
		echo "$path $(git cat-file blob "$head:$path")"
	done > "$dir/derived"
	drop op
	placed=0
}
turns() { # AGENT...: in the order in which a commit on $head places their operations
	for each in "$@"; do echo "$(printf '%s\0%s' "$head" "$each" | sha256) $each"; done | sort | sed 's/.* //'
}

story() {
	git init -q --object-format="$format" "$work/$format" && cd "$work/$format"
	rm -rf "${out:?}/$format" && mkdir -p "$work/new"
	n=0 token=0 queue=0 newest=0 placed=0 head='' at='' session_alpha=alpha-1 session_beta=beta-1
	keys_alpha='' keys_beta='' signer_alpha=alpha signer_beta=beta
	blob=$(echo hello | git hash-object --stdin)

	op alpha policy policy "\"admins\":[\"$(key policy)\"]" '"fold":"none"' '"join":"open"' '"listed":[]' \
		'"max_lease":604800' '"restore_hold":600' '"skew":60' '"takeover":"gated"' '"void":[]'
	put policy < "$work/record"
	object '"fold":"none"' "\"repo\":\"$repo\"" '"skew":60' '"v":3' | put format
	counts
	step 01-root "alpha begins ledger $repo"

	op alpha alpha join "\"key\":\"$(key alpha)\""
	keys_alpha="{\"from\":2,\"key\":\"$(key alpha)\"}" && counts
	step 02-join-alpha 'alpha joins'

	op beta beta join "\"key\":\"$(key beta)\""
	keys_beta="{\"from\":3,\"key\":\"$(key beta)\"}" && counts
	step 03-join-beta 'beta joins'

	stamps='[{"name":"ticket","value":"na\u00efve"}]'
	claim alpha "{\"blob\":\"$blob\",\"intent\":\"edit\",\"path\":\"src/a.py\"},{\"intent\":\"read\",\"path\":\"docs/\\u00e9\"}\
,{\"glob\":\"lib/**/*.rs\",\"intent\":\"edit\"},{\"intent\":\"edit\",\"task\":\"E-1/2\"}" "$stamps" "\"$(stamp 14)\""
	granted "$stamps" && counts
	step 04-claim-granted '#1 alpha claims src/a.py (edit) +3'

	claim beta '{"intent":"read","path":"free"},{"intent":"read","path":"lib/x"}' '[]' null && counts
	step 05-claim-refused 'beta is refused claim free (read) +1: alpha #1'

	release alpha 4 '[1,3]'
	put claims/0/1/cut-000000000006-0000 < "$work/record" && counts
	step 06-part-released 'alpha releases #1 docs/\u00e9 +1'

	claim alpha '{"intent":"edit","path":"src/a.py"}' null null
	put claims/0/1/cut-000000000007-0000 < "$work/record" && granted "$stamps" && counts
	step 07-claim-replaces-item '#2 alpha claims src/a.py (edit)'

	op alpha alpha renew "\"claims\":[{\"claim\":\"$(printf %032x 4)\",\"pins\":[null,\"$blob\",null,null],\"stamps\":[]}]" \
		'"lease":"long"' '"ttl":14400'
	put claims/0/1/renew < "$work/record" && counts
	step 08-renewed 'alpha renews #1'

	for agent in $(turns alpha beta); do
		claim "$agent" "{\"intent\":\"edit\",\"path\":{\"b64\":\"$(printf '%s/\377' "$agent" | base64)\"}}" '[]' null
		granted '[]' && counts
		echo "#$token $agent claims $agent/\\udcff (edit)"
		eval "nonce_$agent=$n token_$agent=$token"
	done > "$work/message"
	step 09-two-agents-in-turn "$(cat "$work/message")"

	op beta beta cancel "\"op\":\"$(printf %032x "$nonce_beta")\""
	drop "claims/0/$token_beta" && counts
	step 10-cancelled "beta cancels #$token_beta"

	release alpha 7 null
	drop claims/0/2 && counts
	step 11-released 'alpha releases #2'

	op beta policy break "\"claims\":[\"$(printf %032x 4)\",\"$(printf %032x "$nonce_alpha")\"]" '"reason":"gone home"'
	drop claims && counts
	step 12-broken "beta breaks #1 #$token_alpha"

	challenge="git-coord rotate $repo alpha $(printf %032x $((n + 1)))"
	proof=$(echo "$challenge" | signature alpha2 git-coord-rotate | grep -v -e ----- | tr -d '\n')
	op alpha alpha rotate "\"key\":\"$(key alpha2)\"" "\"proof\":\"$proof\""
	keys_alpha="$keys_alpha,{\"from\":14,\"key\":\"$(key alpha2)\"}" && counts
	step 13-rotated 'alpha rotates its key'
	signer_alpha=alpha2

	session_alpha=alpha-2
	op alpha alpha2 rejoin && counts
	step 14-rejoined 'alpha rejoins'

	session_alpha=alpha-1
	claim alpha '{"intent":"edit","path":"."}' '[]' null
	session_alpha=alpha-2 && counts
	step 15-other-session 'alpha is refused claim . (edit): another session'

	at=3 # an old date: `counters.at` follows it, the date of the commit does not go back
	op alpha policy policy "\"admins\":[\"$(key policy)\"]" '"fold":"none"' '"join":"listed"' \
		"\"listed\":[{\"agent\":null,\"key\":\"$(key stranger)\"}]" '"max_lease":3600' '"restore_hold":600' '"skew":60' '"takeover":"never"' \
		"\"void\":[\"$head\"]"
	put policy < "$work/record" && counts && at=''
	step 16-policy 'alpha sets the policy'

	claim alpha '{"intent":"edit","path":"a"}' null null && counts
	step 17-lease-too-long 'alpha is refused claim a (edit): lease too long'

	claim alpha '{"intent":"edit","path":"a"}' null "\"$(stamp 16)\"" && counts
	step 18-too-late 'alpha is refused claim a (edit): too late'

	op alpha policy policy "\"admins\":[\"$(key policy)\"]" '"fold":"none"' '"join":"listed"' \
		"\"listed\":[{\"agent\":null,\"key\":\"$(key stranger)\"}]" '"max_lease":604800' '"restore_hold":600' '"skew":60' '"takeover":"gated"' \
		"\"void\":[]"
	put policy < "$work/record" && counts
	step 19-policy 'alpha sets the policy'
}

living() { # the second half: waiting, handing over, tasks, what is landed, takeover
	claim alpha '{"intent":"edit","path":"x"},{"branch":"main","intent":"edit"}' '[]' null
	granted '[]' && counts
	step 20-branch-claimed '#5 alpha claims x (edit) +1'

	claim beta '{"intent":"edit","path":"x/y"}' null null "\"$(stamp 40)\""
	waits && counts
	step 21-queued 'beta waits for x/y (edit): alpha #5'

	claim alpha '{"intent":"edit","path":"x/y/z"}' '[]' null
	granted '[]' && counts
	step 22-holder-is-not-kept-off '#6 alpha claims x/y/z (edit)'

	release alpha 23 null
	drop claims/0/6 && counts
	step 23-still-in-the-way 'alpha releases #6'

	release alpha 21 '[0]'
	put claims/0/5/cut-000000000025-0000 < "$work/record"
	grant beta 22 '[]' true && copied waiting/0/1 claims/0/7/claim && drop waiting && counts
	step 24-served 'alpha releases #5 x; #7 beta is granted x/y (edit)'

	release beta 22 null '"alpha"'
	grant alpha 26 '[]' true && copied claims/0/7/claim claims/0/8/claim && drop claims/0/7
	put claims/0/8/handed-000000000026-0000 < "$work/record" && counts
	step 25-handed-over 'beta hands #7 to alpha as #8'

	op beta beta block '"reason":"no key"' '"tasks":["E-1","E-2/3"]'
	put blocked/000000000027 < "$work/record" && counts
	step 26-blocked 'beta blocks task:E-1 +1'

	claim alpha '{"intent":"edit","task":"E-1/2"}' '[]' null && counts
	step 27-claim-of-blocked 'alpha is refused claim task:E-1/2 (edit): blocked'

	op alpha "$signer_alpha" unblock "\"blocks\":[\"$(nonce 27)\"]" '"reason":""'
	drop blocked && counts
	step 28-unblocked 'alpha unblocks task:E-1 +1'

	release alpha 26 null null "{\"branch\":\"topic\",\"commit\":\"$head\",\"paths\":[{\"blob\":\"$blob\",\"path\":\"x/y\"}],\"until\":\"main\"}"
	put claims/0/8/settling < "$work/record" && counts
	step 29-landed 'alpha lands #8'

	op beta beta settle "\"claims\":[\"$(nonce 26)\"]" "\"commit\":\"$head\""
	drop claims/0/8 && counts
	step 30-settled 'beta settles #8'

	claim alpha '{"intent":"read","path":"p"},{"intent":"read","path":"q"},{"intent":"edit","path":"r"}' '[]' null
	granted '[]' && counts
	step 31-three '#9 alpha claims p (read) +2'

	claim beta '{"intent":"read","path":"p"}' '[]' null
	granted '[]' && counts
	step 32-another-reader '#10 beta claims p (read)'

	claim alpha '{"intent":"edit","path":"p"}' '[]' null "\"$(stamp 60)\""
	waits && counts
	step 33-queued-for-more 'alpha waits for p (edit): beta #10'

	claim beta '{"intent":"edit","path":"r"}' '[]' null "\"$(stamp 60)\"" && counts
	step 34-deadlock 'beta is refused claim r (edit): deadlock'

	release beta 33 null
	drop claims/0/10 && copied waiting/0/2 claims/0/9/cut-000000000036-0001
	grant alpha 34 '[]' true && copied waiting/0/2 claims/0/11/claim && drop waiting && counts
	step 35-served-anew 'beta releases #10; #11 alpha is granted p (edit)'

	release alpha 32 '[2]' '"beta"'
	grant beta 37 '[]' true
	copied claims/0/9/claim claims/0/12/claim && copied claims/0/9/cut-000000000036-0001 claims/0/12/cut-000000000036-0001
	put claims/0/9/cut-000000000037-0000 < "$work/record" && put claims/0/12/handed-000000000037-0000 < "$work/record" && counts
	step 36-part-handed-over 'alpha hands #9 r to beta as #12'

	claim beta '{"intent":"edit","path":"q"}' '[]' null "\"$(stamp 50)\""
	waits && counts
	step 37-queued-in-vain 'beta waits for q (edit): alpha #9'

	at=60
	claim beta '{"intent":"edit","path":"s"}' '[]' null
	drop waiting && granted '[]' && counts
	step 38-dropped '#13 beta claims s (edit)'

	at=200
	takeover alpha 39 "$(stamp 180)" 7199 && counts
	step 39-not-watched 'alpha is refused takeover s/t (edit) +1: not watched long enough'
	takeover alpha 39 "$(stamp 180)" 7200
	drop claims/0/13 && granted '[]' && counts
	step 40-taken-over '#14 alpha takes over s/t (edit) +1: beta #13'
	at=''

	old=$head root=$(cat "$out/$format/01-root/id") epoch=1
	checkpoint "$old" # once for its tree, in which its own record has no part
	tree=$(git rm -rq --cached op && git write-tree)
	n=$((n - 1)) placed=0 && checkpoint "$tree"
	head=''
	step 41-epoch 'alpha begins epoch 1'

	claim beta '{"intent":"edit","path":"t"}' '[]' null
	granted '[]' && counts
	step 42-after '#15 beta claims t (edit)'

	claim beta '{"intent":"read","path":"t"}' null null
	granted '[]' && counts
	step 43-read-keeps-the-edit '#16 beta claims t (read)'

	claim alpha '{"glob":"u/**/*.sql","intent":"edit"}' '[]' null
	granted '[]' && counts
	step 44-glob '#17 alpha claims glob:u/**/*.sql (edit)'

	claim beta '{"intent":"edit","path":"u/new"}' null null && counts
	step 45-folder-meets-the-glob 'beta is refused claim u/new (edit): alpha #17'

	claim beta '{"file":true,"intent":"edit","path":"u/new"}' '[]' null
	granted '[]' && counts
	step 46-file-to-be-does-not '#18 beta claims u/new (edit)'

	restored
}
restored() { # the remote lost it all, and beta put it forward again; what else beta had is placed after that
	op beta beta restore '"found":null'
	at_restored=$(stamp "$minute") ops_restored=$n && restoration '' && unnumbered
	step 47-restored 'beta restores the ledger'

	claim beta '{"intent":"edit","path":"v"}' '[]' null && counts
	step 48-on-hold 'beta is refused claim v (edit): restored'

	claim alpha '{"intent":"edit","path":"w"}' '[]' null "\"$(stamp $((n + 30)))\""
	waits && counts && waits_of_alpha=$((n))
	step 49-waits-for-the-hold 'alpha waits for w (edit): restored'

	release beta 43 null '"alpha"' && counts
	step 50-handed-over-on-hold 'beta is refused release: restored'

	listed="$(listed beta 2),$(listed alpha 3),$(listed beta 4)"
	op beta beta replay "\"lost\":[{\"commit\":\"$old\",\"ops\":[]},{\"commit\":\"$root\",\"ops\":[$listed]}]" '"token":40'
	token=40
	restoration "$(listed alpha 2),$(listed beta 1),$(listed beta 3)" && unnumbered
	step 51-replay 'beta places again 3 of 2 lost commits'

	claim beta '{"intent":"edit","path":"v"}' '[]' "\"$(stamp 1)\""
	granted '[]' && counts && listed_claim=$n
	step 52-listed '#41 beta claims v (edit)'

	claim alpha '{"intent":"edit","path":"v"}' '[]' null "\"$(stamp $((n + 30)))\""
	waits && counts && waiter=$n queued=$queue
	step 53-listed-waiter 'alpha waits for v (edit): beta #41'

	release beta "$listed_claim" null
	drop claims/0/41
	grant alpha "$waiter" '[]' true && copied "waiting/0/$queued" "claims/0/$token/claim" && drop "waiting/0/$queued" && counts
	step 54-listed-is-served 'beta releases #41; #42 alpha is granted v (edit)'

	op alpha policy policy "\"admins\":[\"$(key policy)\"]" '"fold":"none"' '"join":"listed"' \
		"\"listed\":[{\"agent\":null,\"key\":\"$(key stranger)\"}]" '"max_lease":604800' '"restore_hold":0' '"skew":60' '"takeover":"gated"' \
		"\"void\":[]"
	put policy < "$work/record"
	grant alpha "$waits_of_alpha" '[]' true && copied "waiting/0/$((queued - 1))" "claims/0/$token/claim" && drop waiting && counts
	step 55-hold-lifted 'alpha sets the policy; #43 alpha is granted w (edit)'

	op alpha policy move '"prefix":"refs/heads/coord"' '"reason":"only branches"' '"url":null'
	put moved < "$work/record" && counts
	step 56-moved 'alpha moves the ledger'

	expelled
}
expelled() { # beta is put out with all it has, and comes back with another key
	claim beta '{"intent":"edit","path":"v"}' '[]' null "\"$(stamp $((n + 30)))\""
	waits && counts
	step 57-waits 'beta waits for v (edit): alpha #42'

	op alpha policy expel '"agents":["beta"]' '"reason":"a stolen key"'
	drop waiting && drop claims/0/12 && drop claims/0/15 && drop claims/0/16 && drop claims/0/18 && drop agents/beta && counts
	object "\"at\":\"$(stamp "$minute")\"" '"by":"alpha"' "\"keys\":[$keys_beta]" "\"ops\":$n" '"reason":"a stolen key"' | put expelled/beta
	step 58-expelled 'alpha expels beta'

	op alpha policy expel '"agents":["alpha","beta"]' '"reason":""' && counts
	step 59-no-such-member 'alpha is refused expel: no such member'

	op alpha policy policy "\"admins\":[\"$(key policy)\"]" '"fold":"none"' '"join":"listed"' \
		"\"listed\":[{\"agent\":null,\"key\":\"$(key stranger)\"},{\"agent\":\"beta\",\"key\":\"$(key beta2)\"}]" '"max_lease":604800' '"restore_hold":0' '"skew":60' '"takeover":"gated"' \
		"\"void\":[]"
	put policy < "$work/record" && counts
	step 60-listed-by-name 'alpha sets the policy'

	op beta beta2 join "\"key\":\"$(key beta2)\""
	drop expelled && keys_beta="$keys_beta,{\"from\":$n,\"key\":\"$(key beta2)\"}" && counts
	step 61-comes-back 'beta joins'

	op alpha policy expel '"agents":["beta"]' '"reason":""'
	drop agents/beta && counts
	object "\"at\":\"$(stamp "$minute")\"" '"by":"alpha"' "\"keys\":[$keys_beta]" "\"ops\":$n" '"reason":""' | put expelled/beta
	step 62-expelled-again 'alpha expels beta'
}
listed() { echo "{\"agent\":\"$1\",\"nonce\":\"$(nonce $((n + $2)))\"}"; } # AGENT, how many operations from now
restoration() { # LISTED
	object '"agent":"beta"' "\"at\":\"$at_restored\"" '"found":null' "\"ops\":$ops_restored" "\"replayed\":[$1]" | put restored
}
unnumbered() { object "\"at\":\"$(stamp "$minute")\"" "\"ops\":$n" "\"queue\":$queue" "\"token\":$token" | put counters; }
checkpoint() { # TREE
	op alpha policy checkpoint "\"number\":$epoch" "\"old\":\"$old\"" "\"root\":\"$root\"" "\"tree\":\"$1\""
	object "\"number\":$epoch" "\"old\":\"$old\"" "\"ops\":$n" "\"root\":\"$root\"" | put epoch
	counts
}
takeover() { # AGENT CLAIM LEASE_END UNCHANGED
	eval "signer=\$signer_$1"
	op "$1" "$signer" takeover "$no_base" '"items":[{"intent":"edit","path":"s/t"},{"intent":"read","task":"E-1"}]' '"lease":"standard"' \
		'"purpose":""' '"reason":"silent"' '"stamps":null' '"ttl":7200' "\"claims\":[{\"beat\":null,\"claim\":\"$(nonce "$2")\",\"lease_end\":\"$3\",\"tip\":null,\"unchanged\":$4,\"witness\":null}]"
}

refuse() { cat > "$out/refused/$2" && echo "$1 $2" >> "$out/refused/list"; } # CLASS NAME, the record on stdin
rejoin() { # [AGENT [HEAD [SEQ]]] then members that replace or join those of a good statement
	object "\"agent\":\"${1:-alpha}\"" '"at":"2026-01-01T00:30:00Z"' "\"head\":${2:-\"$head\"}" "\"kind\":\"${4:-rejoin}\"" \
		'"nonce":"00000000000000000000000000000090"' "\"repo\":\"${5:-$repo}\"" "\"seq\":${3:-90}" '"session":"alpha-3"' \
		"${6:-\"v\":3}" ${7:+"$7"}
}
refusals() { # every one but the first differs from a placeable operation in one thing
	rm -rf "$out/refused" && mkdir -p "$out/refused"
	good() { rejoin '' '' '' '' '' ''; }
	with() { rejoin '' '' '' "$1" '' '' "$2" | sign alpha2; } # KIND MEMBER(S)
	edited() { good | sed "$1" | sign alpha2; }
	good | sign alpha2 | refuse placeable good
	good | refuse record unsigned
	{ good | sign alpha2 && echo; } | refuse record trailing-newline
	{ good | sign alpha2 && good | signature alpha2; } | refuse record second-signature
	good | sign alpha2 | awk '{ printf "%s\r\n", $0 }' | refuse record carriage-returns
	good | sign alpha2 | sed '3s/$/ /' | refuse record blank-in-the-signature
	good | sign alpha2 git | refuse signature wrong-namespace
	{ rejoin '' '' 91 && good | signature alpha2; } | refuse signature of-another-statement
	edited 's/"seq":90/&,"seq":90/' | refuse statement duplicate-key
	edited 's/"seq":90/"seq":90.0/' | refuse statement float
	edited 's/"seq":90/"seq":9007199254740992/' | refuse statement integer-of-2-to-the-53
	edited 's/"seq":90/"seq":true/' | refuse statement boolean-as-number
	edited 's/,/, /' | refuse statement blank-after-comma
	edited 's/alpha-3/alpha\\u002d3/' | refuse statement needless-escape
	edited 's/^{\("agent":"alpha"\),\(.*\)}$/{\2,\1}/' | refuse statement unsorted-keys
	edited 's/T00:30:00Z/T00:30:60Z/' | refuse statement second-60
	edited 's/T00:30:00Z/T00:30:00+00:00/' | refuse statement zone-as-offset
	edited 's/2026-01-01/2026-02-29/' | refuse statement no-such-day
	edited 's/alpha-3/alpha 3/' | refuse statement blank-in-session
	edited 's/,"session":"alpha-3"//' | refuse statement missing-field
	with release '"reason":"\ud800"
"landed":null
"targets":[{"claim":"00000000000000000000000000000004","items":null}]
"to":null' | refuse statement lone-surrogate
	with release '"reason":"\u202e"
"landed":null
"targets":[{"claim":"00000000000000000000000000000004","items":null}]
"to":null' | refuse statement forbidden-code-point
	with release '"reason":""
"landed":null
"targets":[]
"to":null' | refuse statement empty-list
	with release '"reason":""
"targets":[{"claim":"00000000000000000000000000000004","items":[1,1]}]
"landed":null
"to":null' | refuse statement position-twice
	for item in '"path":"./a"' '"path":"/a"' '"path":"a/"' '"path":"a/../b"' '"path":""' '"path":{"b64":"YQ=="}' \
		'"path":"a","task":"a"' '"task":"a/"' '"path":"a\u0000"' '"branch":"a..b"' '"branch":"a.lock/b"'; do
		k=$((${k:-0} + 1))
		with claim "$(claim_members "{\"intent\":\"edit\",$item}")" | refuse statement "item-spelling-$k"
	done
	with claim "$(claim_members '{"glob":"a**","intent":"edit"}')" | refuse statement glob-star-star-inside
	with claim "$(claim_members '{"intent":"write","path":"a"}')" | refuse statement unknown-intent
	with claim "$(claim_members '{"file":false,"intent":"edit","path":"a"}')" | refuse statement file-false
	with claim "$(claim_members '{"file":true,"intent":"edit","path":"."}')" | refuse statement file-everything
	with claim "$(claim_members '{"file":true,"glob":"a","intent":"edit"}')" | refuse statement file-glob
	with claim "$(claim_members "{\"blob\":\"$blob\",\"file\":true,\"intent\":\"edit\",\"path\":\"a\"}")" | refuse statement file-and-blob
	with claim "$(claim_members '{"intent":"edit","path":"a"},{"intent":"read","path":"a"}')" | refuse statement item-twice
	with rejoin '"zeal":1' | refuse newer unknown-field
	with retire '"zeal":1' | refuse newer unknown-kind
	rejoin '' '' '' '' '' '"v":4' | sign alpha2 | refuse newer version-4
	with claim "$(claim_members '{"host":"main","intent":"edit"}')" | refuse newer host-item
	rejoin '' '' '' '' 00000000-0000-4000-8000-000000000002 | sign alpha2 | refuse place other-ledger
	rejoin '' null | sign alpha2 | refuse place no-head
	rejoin '' '' 19 | sign alpha2 | refuse place seq-used
	rejoin gamma | sign stranger | refuse place not-a-member
	good | sign beta | refuse place key-of-another-agent
	good | sign alpha | refuse place key-rotated-away
	rejoin alpha '' '' join '' '' "\"key\":\"$(key stranger)\"" | sign stranger | refuse place join-of-used-name
	rejoin gamma '' '' join '' '' "\"key\":\"$(key beta)\"" | sign beta | refuse place join-of-used-key
	rejoin gamma '' '' join '' '' "\"key\":\"$(key alpha)\"" | sign alpha | refuse place join-of-key-once-used
	rejoin gamma '' '' join '' '' "\"key\":\"$(key policy)\"" | sign policy | refuse place join-not-listed
	rejoin gamma '' '' join '' '' "\"key\":\"$(key stranger)\"" | sign policy | refuse place join-signed-by-another-key
	with checkpoint "\"number\":2
\"old\":\"$head\"
\"root\":\"$root\"
\"tree\":\"$head\"" | refuse place checkpoint-in-a-chain
	with move '"prefix":"refs/heads/coord"
"reason":""
"url":null' | refuse place move-not-by-policy-key
	with break '"claims":["00000000000000000000000000000004"]
"reason":""' | refuse place break-not-by-policy-key
	with expel '"agents":["alpha"]
"reason":""' | refuse place expel-not-by-policy-key
	rejoin beta | sign beta2 | refuse place of-one-put-out
	rejoin beta '' '' join '' '' "\"key\":\"$(key stranger)\"" | sign stranger | refuse place join-of-a-name-put-out
	rejoin gamma '' '' join '' '' "\"key\":\"$(key beta2)\"" | sign beta2 | refuse place join-of-a-key-put-out
}
claim_members() { printf '%s\n' "$no_base" "\"items\":[$1]" '"lease":"quick"' '"not_after":null' '"purpose":""' '"stamps":null' '"ttl":60' '"wait_until":null'; }

for format in sha256 sha1; do story && living; done # then refused records, at the end of the sha1 story
refusals
