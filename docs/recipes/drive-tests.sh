#!/bin/bash
# Runs tests of xfstests and blktests on emulated drives, and lists those that the machine or the
# checkout lacks. Needs root, FUSE and loop devices; xfstests must have been built.
set -euo pipefail

usage='drive-tests.sh [--profile NAME] [--capacity SIZE]
    [--xfstests CHECKOUT [--filesystem ext4] [--group trim]]
    [--blktests CHECKOUT [--tests "block/003 block/009 block/025"]]'
profile=generic-nvme-qlc capacity=4GiB
xfstests='' filesystem=ext4 group=trim
blktests='' tests='block/003 block/009 block/025'
while [ $# -gt 0 ]; do
    case $1 in
        --profile | --capacity | --xfstests | --filesystem | --group | --blktests | --tests)
            [ $# -gt 1 ] || { echo "$1 takes a value" >&2; exit 2; }
            declare "${1#--}=$2"
            shift 2
            ;;
        *)
            echo "usage: $usage" >&2
            exit 2
            ;;
    esac
done
[ "$xfstests$blktests" ] || { echo "which checkout? usage: $usage" >&2; exit 2; }

cannot() {
    echo "$1" >&2
    exit 2
}
[ -z "$xfstests" ] || [ -x "$xfstests/ltp/fsstress" ] || cannot "build it first: make -C $xfstests"
[ -z "$blktests" ] || [ -x "$blktests/check" ] || cannot "no blktests in $blktests"

place=$(mktemp -d)
drives=()
finish() {
    for mounted in test scratch; do
        while mountpoint --quiet "$place/$mounted"; do
            umount "$place/$mounted" || break
        done
    done
    for drive in "${drives[@]}"; do
        trimbench attach --stop "$drive" || echo "$drive is still attached" >&2
    done
    # What the tests have left stays: `results` is named below.
    rmdir "$place/test" "$place/scratch" 2>/dev/null || :
}
trap finish EXIT
trap 'exit 130' INT TERM

attach() {
    drive=$(trimbench attach "$profile" --capacity "$capacity" --detach) ||
        cannot "cannot attach $profile"
    drives+=("$drive")
}

status=0
if [ "$xfstests" ]; then
    mkdir "$place/test" "$place/scratch"
    attach
    test_drive=$drive
    attach
    "mkfs.$filesystem" -q "$test_drive" >"$place/mkfs.log" || cannot "mkfs.$filesystem fails"
    cat >"$place/xfstests.config" <<CONFIG
export FSTYP=$filesystem
export TEST_DEV=$test_drive TEST_DIR=$place/test
export SCRATCH_DEV=$drive SCRATCH_MNT=$place/scratch
export RESULT_BASE=$place/results/xfstests
CONFIG
    (cd "$xfstests" && HOST_OPTIONS=$place/xfstests.config ./check -g "$group") || status=1
fi
if [ "$blktests" ]; then
    there=()
    for test in $tests; do
        if [ -e "$blktests/tests/$test" ]; then
            there+=("$test")
        else
            echo "$test [not run] this checkout does not have it"
        fi
    done
    [ ${#there[@]} != 0 ] || cannot "this checkout has none of $tests"
    attach
    echo "TEST_DEVS=($drive)" >"$place/blktests.config"
    (cd "$blktests" &&
        ./check -c "$place/blktests.config" -o "$place/results/blktests" "${there[@]}") || status=1
fi
echo "results: $place/results"
exit $status
