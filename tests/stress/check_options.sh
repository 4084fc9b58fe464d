#!/bin/sh
# SPDX-License-Identifier: MIT
# check_options.sh PROGRAM - wrong options end the stress of the POSIX layer with status 2 and a message
# that names the option and what would be valid.
set -eu
program=$1

refuses() { # words of the message, options...
    words=$1
    shift
    status=0
    message=$("$program" "$@" 2>&1) || status=$?
    [ "$status" -eq 2 ] || { echo "$*: status $status" >&2; exit 1; }
    case $message in
    *"$words"*) ;;
    *) echo "$*: no \"$words\" in: $message" >&2; exit 1 ;;
    esac
}

refuses 'what is "nonsense"? names: mutex rwlock' --features nonsense
refuses 'either all names with "-", or none' --features mutex,-rwlock
refuses 'nothing is left' --features relay,barrier
refuses '--seconds needs a value' --seconds
refuses '--seconds "5x" is not a number' --seconds 5x
refuses '--seed "-1" is not a number' --seed -1
refuses '--seconds: from 1 to' --seconds 0
refuses '--actors: from 2 to' --actors 1
refuses '--hold: from 0 to 1' --hold 2
refuses 'what is "--unknown"? options: --seconds N' --unknown 1
