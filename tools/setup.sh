#!/bin/sh
# Makes .venv hold exactly what requirements.txt pins. Does nothing when it already does.
# PYTHON=/path/to/python chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

fits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3 python3.13 python3.12 python3.11 python
    fi
    for candidate; do
        if fits "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    if [ -n "${PYTHON:-}" ]; then
        say "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13 that runs. Point it at one, or unset it."
    else
        found=$(python3 -V 2>&1 || true)
        say "This course needs Python 3.11, 3.12 or 3.13; 'python3 -V' here says: ${found:-nothing}."
        say "Install one (python.org, your package manager, or 'uv python install 3.12') and run this again."
    fi
    exit 1
}

stamp() {
    pwd # a folder that was moved or copied points to the old one
    cksum requirements.txt pyproject.toml packages/*/pyproject.toml
}

if [ -f .venv/course-stamp ] && fits .venv/bin/python && [ "$(cat .venv/course-stamp)" = "$(stamp)" ]; then
    exit 0
fi

if [ -f .venv/course-stamp ] && [ "$(head -n 1 .venv/course-stamp)" != "$(pwd)" ]; then
    say "This folder was moved or copied: its .venv is made anew"
    rm -rf .venv
fi
if ! fits .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    say "Creating .venv with $("$python" -V)"
    "$python" -m venv --clear .venv || {
        say "The venv module failed. On Debian or Ubuntu: apt install python3-venv. Then run this again."
        exit 1
    }
fi
pip() { .venv/bin/python -m pip --disable-pip-version-check --quiet "$@"; }
failed() {
    say "Installing $1 failed; pip's own message is above. Mend that and run this again: it goes on from here."
    exit 1
}
rm -f .venv/course-stamp
torch=$(grep '^torch==' requirements.txt)
say "Installing $torch and the libraries it needs (the largest download)"
pip install "$torch" || failed "$torch"
others=$(grep -c '^[^# ]*==' requirements.txt)
say "Installing the $others packages of requirements.txt, at their exact versions (a minute or two, without a line)"
pip install --no-deps -r requirements.txt || failed "requirements.txt"
say "Installing course_utils and the packages beside it from this folder"
set -- -e .
for package in packages/*/; do set -- "$@" -e "$package"; done
pip install --no-deps --no-build-isolation "$@" || failed "course_utils"
stamp >.venv/course-stamp
