# What `cargo xtask dist --check` runs in a fresh Debian: installs, uses and removes the package.
# Arguments: the names of package and archive in /tmp, the version, and runs of trimbench, whose
# records are kept in /tmp/records/ for a comparison.
set -u -o pipefail
package=$1 archive=$2 version=$3
shift 3
failed=0

# check NAME PATTERN COMMAND...: COMMAND must end well and print a line of PATTERN.
check() {
    local name=$1 pattern=$2 output
    shift 2
    if output=$("$@" 2>&1 < /dev/null) && grep -qE -- "$pattern" <<< "$output"; then
        echo "ok      $name"
    else
        echo "FAILED  $name: it printed: $output"
        failed=1
    fi
}

# Without what dpkg and man-db remember of every package ever installed.
files() {
    find / -xdev -not -path '/tmp/*' -not -path '/proc/*' -not -path '/var/cache/man/*' \
        -not -path '/var/lib/dpkg/*-old' | sort
}

no_rust() {
    ! type cargo && ! type rustc
}

older() {
    mkdir -p older/DEBIAN older/usr/share/trimbench
    touch older/usr/share/trimbench/older
    printf '%s\n' 'Package: trimbench' 'Version: 0.0.1-1' 'Architecture: all' \
        'Maintainer: nobody <nobody@example.org>' 'Description: older' > older/DEBIAN/control
    dpkg-deb --build older older.deb && dpkg --install older.deb && ls /usr/share/trimbench
}

upgrade() {
    dpkg --install "$package" && [ ! -e /usr/share/trimbench ] && dpkg-query --show trimbench
}

pages() {
    local page warnings
    for page in /usr/share/man/man[18]/trim*; do
        warnings=$(man --warnings --local-file "$page" 2>&1 > /dev/null)
        [ -z "$warnings" ] || { echo "$page: $warnings"; return 1; }
        lexgrog "$page" || return 1
        for reference in $(zgrep -o '^trim.*([18])' "$page" | tr -d '\\' | sed 's/([18])//'); do
            man --where "$reference" || return 1
        done
    done
}

# bash_completes LINE WORD...: the line, and its words as bash breaks them.
bash_completes() {
    local line=$1 program=$2
    shift
    set +u
    . /usr/share/bash-completion/bash_completion
    _comp_load "$program" || return 1
    local function
    function=$(complete -p "$program" | sed 's/.* -F \([^ ]*\) .*/\1/')
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$line
    compopt() { :; }
    "$function" "$program" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
    printf '%s\n' "${COMPREPLY[@]}"
}

# The words as zsh has them; what it would describe, or parse by, is printed.
zsh_completes() {
    zsh -fc 'autoload -Uz compinit && compinit -u -D
        _describe() { print -rl -- ${(P)@[-1]} }
        _arguments() { print -rl -- "$@" }
        words=("$@") CURRENT=$#
        $_comps[$1]' zsh "$@"
}

fish_completes() {
    fish --command "complete -C '$1'"
}

run_program() {
    local program=$1 name=$2 number=0 run
    shift 2
    for run in "$@"; do
        number=$((number + 1))
        # shellcheck disable=SC2086
        "$program" run $run --seed 1 --output "records/$name-$number" || return 1
    done
}

removal() {
    dpkg --remove trimbench && files | grep -v /var/lib/dpkg/info/ | diff removed-before -
}

purge() {
    # Without configuration files, removal has left nothing to purge.
    dpkg --install "$package" && dpkg --purge trimbench && files | diff purged-before -
}

cd /tmp || exit 1
mkdir records
check "no Rust here" '' no_rust
files > purged-before
grep -v /var/lib/dpkg/info/ purged-before > removed-before
check "an older package" '^older$' older
check "an upgrade leaves nothing of it" "^trimbench	$version-1\$" upgrade
check "the version" "^trimbench $version\$" trimbench --version
check "it names its commit" '^commit [0-9a-f]{40}' trimbench --version
check "it is static" 'statically linked' ldd /usr/bin/trimbench
check "the version of trimpace" "^trimpace $version\$" trimpace --version
check "it is static" 'statically linked' ldd /usr/sbin/trimpace
check "it finds nothing to restore" '^$' trimpace restore
check "every man page is without warnings, and knows only others that are there" '' pages
check "man trimbench" 'trimbench-what-if\(1\)' man trimbench
check "man trimbench-trace-stat" 'trimbench-trace-stat +- +Print' man trimbench-trace-stat
check "man trimpace" 'trimpace-once\(8\)' man trimpace
check "man trimpace-once" '--p99' man trimpace-once
check "bash completes a method" '^delete-stall$' \
    bash_completes "trimbench run delete-s" trimbench run delete-s
check "bash completes a profile" '^like-rc100$' \
    bash_completes "trimbench run -t sim:like-rc" trimbench run -t sim : like-rc
check "bash completes an option" '^patience=$' \
    bash_completes "trimbench run --set patie" trimbench run --set patie
check "bash completes a command of trace" '^record$' \
    bash_completes "trimbench trace re" trimbench trace re
check "bash completes an option of trimpace" '^--cover$' \
    bash_completes "trimpace once --cov" trimpace once --cov
check "zsh completes a method" '^delete-stall' zsh_completes trimbench run delete-s
check "zsh completes a profile" '^sim.:like-rc100' zsh_completes trimbench run -t sim:like-rc
check "zsh completes an option" '^patience=' zsh_completes trimbench run --set patie
check "zsh completes an option of trimpace" '^--version' zsh_completes trimpace --v
check "fish completes a method" '^delete-stall' fish_completes "trimbench run delete-s"
check "fish completes a profile" '^sim:like-rc100' fish_completes "trimbench run -t sim:like-rc"
check "fish completes an option" '^patience=' fish_completes "trimbench run --set patie"
check "fish completes an option of trimpace" '^--cover' fish_completes "trimpace once --cov"
check "the package's program measures" 'run.json|records' run_program trimbench package "$@"
check "the archive unpacks" 'LICENSE-MIT' tar --extract --verbose --gzip --file "$archive"
check "the archive's program measures" 'run.json|records' \
    run_program "./${archive%.tar.gz}/trimbench" archive "$@"
check "the archive's trimpace runs" "^trimpace $version\$" \
    "./${archive%.tar.gz}/trimpace" --version
check "removal leaves what dpkg knows" '' removal
check "purging leaves nothing" '' purge
exit "$failed"
