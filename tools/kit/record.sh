#!/bin/sh
# Records the course with the torch that is here, and leaves one archive to carry home.
#   sh record.sh [--minutes 9] [02 09 ...]      PYTHON=/path/to/python chooses the interpreter
# Nothing outside this folder is changed. A second run goes on where the first one stopped.
set -u
unset CDPATH
cd "$(dirname "$0")" || exit 1
wanted=$(cat PYTHON) || exit 1

found=
for candidate in "${PYTHON:-python3}" ${PYTHON:+--} python "python$wanted"; do
    [ "$candidate" = -- ] && break
    what=$("$candidate" -c '
import sys, importlib.util as u
print("%d.%d" % sys.version_info[:2], "with" if u.find_spec("torch") else "without", "torch")
' 2>/dev/null) || what="no Python"
    [ "$what" = "$wanted with torch" ] && exec "$candidate" tools/kit/target.py "$@"
    found="$found $candidate is $what;"
done
printf '%s\n' "Recording wants Python $wanted with torch, and$found load the module that has it, or point PYTHON at it. For another Python make another kit, at home: make kit ARGS=\"--python 3.11\" (or 3.12, 3.13)." >&2
exit 1
