#!/bin/sh
# Records the course with the torch that is here, and leaves one archive to carry home.
#   sh record.sh [--minutes 9] [02 09 ...]      PYTHON=/path/to/python chooses the interpreter
# Nothing outside this folder is changed. A second run goes on where the first one stopped.
set -u
unset CDPATH
cd "$(dirname "$0")" || exit 1

stop() {
    printf '%s\n' "$*" >&2
    exit 1
}
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
has_torch() {
    "$1" -c 'import sys, importlib.util as u; sys.exit(u.find_spec("torch") is None)' 2>/dev/null
}

wanted=$(cat target/PYTHON 2>/dev/null) || stop "This is no whole kit: unpack its archive again."
if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON" -- "$@"
else
    set -- python3 python "python$wanted" -- "$@"
fi
without_torch= other= other_without=
while [ "$1" != -- ]; do
    candidate=$1
    shift
    found=$(version "$candidate") || continue
    if has_torch "$candidate"; then
        if [ "$found" = "$wanted" ]; then
            while [ "$1" != -- ]; do shift; done
            shift
            exec "$candidate" tools/kit/target.py "$@"
        fi
        other=${other:-$candidate is Python $found}
    elif [ "$found" = "$wanted" ]; then
        without_torch=${without_torch:-$candidate}
    else
        other_without=${other_without:-$candidate is Python $found}
    fi
done

[ -z "$other" ] && [ -n "$without_torch" ] &&
    stop "$without_torch (Python $wanted) has no torch. Load the module or the environment that has it, or point PYTHON at its python; then run this again."
other=${other:-$other_without}
[ -z "$other" ] &&
    stop "No Python runs here as ${PYTHON:-python3}. Point PYTHON at the Python $wanted that has torch; then run this again."
case ${other##* } in
3.11 | 3.12 | 3.13)
    stop "$other, and this kit is for $wanted. Point PYTHON at a Python $wanted that has torch, or make a kit for this one, at home: make kit ARGS=\"--python ${other##* }\"." ;;
*)
    stop "$other; the course needs 3.11, 3.12 or 3.13, and this kit $wanted. Point PYTHON at a Python $wanted that has torch." ;;
esac
