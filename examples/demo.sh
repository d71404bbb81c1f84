#!/bin/sh
# Asks dwindle about the two example plans, with a sentence before each question. Changes nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

ask() {
    printf '\n%s\n\n$ dwindle %s\n' "$1" "$2"
    # shellcheck disable=SC2086  # the words of a command are meant to be split
    dwindle $2
}

cd "$here/login"
ask "A graph plan is checked as a whole; every problem would be listed at once." "validate"
ask "Where the run stands: what is open and ready, and how many sessions it can still take." "status"
ask "Why each atom runs or waits." "explain"
ask "And one of them: A6 needs the choice point, not the choice that happened to be first." "explain A6"
ask "The plan as a picture, for any viewer of Mermaid diagrams." "graph --format mermaid"

cd "$here/importer"
ask "A tree plan: strict JSON, one leaf at a time." "validate"
ask "The leftmost open leaf is what would be worked on next." "status"
