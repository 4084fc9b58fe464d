#!/bin/sh
# SPDX-License-Identifier: MIT
# wheel.sh FOLDER WHEELHOUSE VERSION - run in a root file system with Python and pip alone
# (tools/setup-packaging): pip installs pirn from the wheels of FOLDER, with the packages that it
# needs from WHEELHOUSE, without a network; the command runs programs of Python on Pirn; nothing is
# left when it is removed.
set -eu
# shellcheck source=tests/packaging/common.sh
. "$(dirname "$0")/common.sh"
wheels=$1 wheelhouse=$2 version=$3
place=/opt/fresh
. /etc/os-release

quiet python3 -m venv $place
PATH=$place/bin:$PATH
quiet pip install --disable-pip-version-check --no-index --find-links "$wheels" --find-links "$wheelhouse" pirn
quiet pip check --disable-pip-version-check
[ "$(pirn --version)" = "pirn, version $version" ] || fail "pirn --version says: $(pirn --version)"
quiet python3 "$here/commands.py"
library=$(echo $place/lib/python3.*/site-packages/pirn_tools/lib/libpirn-pthread.so.0)
check_doctor "$library" "$version"
on_pirn pirn run -- python3 "$here/threads.py"
on_pirn pirn run -- /usr/bin/python3 "$here/threads.py"
quiet pirn trace record --output "$work/trace" -- python3 "$here/threads.py"
quiet pirn trace stat "$work/trace"

quiet pip uninstall --disable-pip-version-check --yes pirn
ls -R $place >"$work/files"
left=$(grep -i pirn "$work/files" || true)
[ -z "$left" ] || fail "left when the package is removed: $left"
echo "ok: wheel for $(uname -m) in $PRETTY_NAME, $(python3 --version): pirn run -- python3 threads.py"
