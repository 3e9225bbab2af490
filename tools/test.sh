#!/bin/sh
# Every test of the course, one line before each step; all steps run, any failure fails the whole.
# Extra arguments go to the two pytest runs (ARGS="-x -k formats").
set -u
cd "$(dirname "$0")/.."
python=.venv/bin/python
status=0
step() {
    printf '\n== %s\n' "$1"
    shift
    "$@" || status=1
}
mkdir -p build
workers=${WORKERS:-2}
step "Style" "$python" -m ruff check .
step "Format" "$python" -m ruff format --check .
step "Types" "$python" -m mypy
step "The library, the structure of the chapters, the exercises" \
    "$python" -m pytest -n "$workers" --ignore tests/conditions "$@"
step "The chapters and their solutions, every output compared; the same under other conditions" \
    env COURSE_STRICT=1 COURSE_QUIET_LOCK="$PWD/build/quiet.lock" \
    "$python" -m pytest -n "$workers" --dist loadscope --nbval \
    --nbval-sanitize-with tests/sanitise.cfg notebooks tests/conditions "$@"
exit $status
